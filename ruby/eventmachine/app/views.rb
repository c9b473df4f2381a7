# frozen_string_literal: true

require 'em-http-request'
require 'json'
require 'rack'

require_relative 'databases'
require_relative 'problems'
require_relative 'settings'

# The Rack application.
class Views
  include Problems

  ASYNC = [-1, {}, []].freeze # Thin waits for env['async.callback']

  def call(env)
    problems(env) { view(Rack::Request.new(env)) }
  end

  private

  def view(request)
    case request.path_info
    when '/index' then index
    when '/json' then hello
    when '/mongo' then mongo(request)
    when '/agents' then agents(request)
    when %r{\A/gridfs/([^/]+)\z} then gridfs(request, Regexp.last_match(1))
    when '/sleep' then sleep(request)
    when '/slow_api' then slow_api(request)
    else raise Problem, 404
    end
  end

  def index
    Rack::Response.new('Hello, World!', 200, 'Content-Type' => 'text/plain').finish
  end

  def hello
    json(message: 'Hello, World!')
  end

  def mongo(request)
    slug = request.GET.fetch('doc', 'small')
    raise Problem.new(400, 'doc must be small or big') unless %w[small big].include?(slug)

    defer(request) do
      article = MONGODB[:articles].find(slug: slug).first || raise(Problem, 404)
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

  def gridfs(request, name)
    defer(request) do
      file = MONGODB.database.fs.open_download_stream_by_name(Rack::Utils.unescape_path(name))
      info = file.file_info
      headers = { 'Content-Type' => info.metadata[:contentType], 'Content-Length' => info.length.to_s }
      [200, headers, file.to_a]
    rescue Mongo::Error::FileNotFound
      raise Problem, 404
    end
  end

  def sleep(request)
    ms = integer(request, 'ms', default: 1000, range: 0..30_000)
    EM.add_timer(ms / 1000.0) { request.env['async.callback'].call(json(slept_ms: ms)) }
    ASYNC
  end

  def slow_api(request)
    calls = integer(request, 'calls', default: 10, range: 1..50)
    ms = integer(request, 'ms', default: 1000, range: 0..5000)
    head = { 'X-Request-Id' => request.get_header('HTTP_X_REQUEST_ID') }.compact
    multi = EM::MultiRequest.new
    calls.times do |number|
      http = EM::HttpRequest.new(Settings::SLOW_API_URL)
      multi.add(number, http.get(query: { call: number, ms: ms }, head: head))
    end
    finish(request, multi.timeout((ms / 1000.0) + 5))
  end

  def finish(request, multi)
    callback = request.env['async.callback']
    multi.callback { callback.call(problems(request.env) { json(results: results(multi)) }) }
    multi.errback do
      callback.call(Problem.new(504).response)
      multi.requests.each_value { |call| call.conn.close }
    end
    ASYNC
  end

  def results(multi)
    raise Problem, 502 if multi.responses[:errback].any?

    multi.requests.each_value.map do |call|
      result = JSON.parse(call.response) if call.response_header.status == 200
      result.is_a?(Hash) ? result : raise(Problem, 502)
    end
  rescue JSON::ParserError
    raise Problem, 502
  end

  # Runs the block in a thread, as the databases' drivers block.
  def defer(request, &block)
    EM.defer(-> { problems(request.env, &block) }, request.env['async.callback'])
    ASYNC
  end

  def json(data)
    Rack::Response.new(JSON.generate(data), 200, 'Content-Type' => 'application/json').finish
  end

  def integer(request, name, default:, range:)
    text = request.GET.fetch(name) { return default }
    value = Integer(text, 10, exception: false)
    return value if range.cover?(value)

    raise Problem.new(400, "#{name} must be an integer from #{range.min} to #{range.max}")
  end
end
