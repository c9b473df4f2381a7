require_relative 'databases'
require_relative 'problems'

# The Rack application.
class Views
  include Problems

  ASYNC = [-1, {}, []].freeze # the response goes to env['async.callback'] later

  def call(env) = problems(env) { route(Rack::Request.new(env)) }

  private

  def route(request)
    case request.path
    when '/index' then index
    when '/json' then hello
    when '/mongo' then mongo(request)
    when '/agents' then agents(request)
    when %r{\A/gridfs/([^/]+)\z} then gridfs(request, Regexp.last_match(1))
    when '/sleep' then sleep(request)
    when '/slow_api' then slow_api(request)
    else halt(404)
    end
  end

  def index = respond('Hello, World!', 'text/plain; charset=utf-8')

  def hello = json(message: 'Hello, World!')

  def mongo(request)
    slug = request.GET.fetch('doc', 'small')
    halt(400, detail: 'doc must be small or big') unless %w[small big].include?(slug)
    defer(request) do
      article = MONGODB[:articles].find(slug:).first || halt(404)
      json(article.merge(_id: article[:_id].to_s))
    end
  end

  def agents(request)
    defer(request) do
      POSTGRESQL.with do |connection|
        connection.reset unless connection.status == PG::CONNECTION_OK
        json(connection.exec(AGENTS).to_a)
      end
    end
  end

  def gridfs(request, path)
    name = Rack::Utils.unescape_path(path).force_encoding('UTF-8')
    defer(request) do
      file = MONGODB.database.fs.open_download_stream_by_name(name)
      info = file.file_info
      [200, { 'Content-Type' => info.metadata[:contentType], 'Content-Length' => info.length.to_s }, file.to_a]
    rescue Mongo::Error::FileNotFound
      halt(404)
    end
  end

  def sleep(request)
    ms = integer(request, 'ms', default: 1000, range: 0..30_000)
    EM.add_timer(ms / 1000.0) { answer(request) { json(slept_ms: ms) } }
    ASYNC
  end

  def slow_api(request)
    calls = integer(request, 'calls', default: 10, range: 1..50)
    ms = integer(request, 'ms', default: 1000, range: 0..5000)
    seconds = (ms / 1000.0) + 5
    head = { 'X-Request-Id' => request.get_header('HTTP_X_REQUEST_ID') }.compact
    multi = EM::MultiRequest.new
    calls.times do |call|
      http = EM::HttpRequest.new(Settings::SLOW_API_URL, inactivity_timeout: seconds)
      multi.add(call, http.get(query: { call:, ms: }, head:).timeout(seconds))
    end
    multi.callback { answer(request) { json(results: results(multi)) } }
    ASYNC
  end

  def results(multi)
    halt(502) if multi.responses[:errback].any?
    multi.requests.each_value.map do |call|
      result = JSON.parse(call.response) if call.response_header.status == 200
      result.is_a?(Hash) ? result : halt(502)
    end
  rescue JSON::ParserError
    halt(502)
  end

  def defer(request, &)
    EM.defer(-> { problems(request.env, &) }, request.env['async.callback'])
    ASYNC
  end

  def answer(request, &) = request.env['async.callback'].call(problems(request.env, &))

  def json(data) = respond(JSON.generate(data), 'application/json')

  def respond(body, type, status = 200)
    [status, { 'Content-Type' => type, 'Content-Length' => body.bytesize.to_s }, [body]]
  end

  def integer(request, name, default:, range:)
    value = Integer(request.GET.fetch(name, default.to_s), 10, exception: false)
    range.cover?(value) ? value : halt(400, detail: "#{name} must be an integer in #{range}")
  end
end
