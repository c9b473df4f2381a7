require 'em-http-request'
require 'json-schema'

require_relative 'download'
require_relative 'fan_out'
require_relative 'problems'

# The Rack application.
class Views
  include Problems

  ASYNC = [-1, {}, []].freeze # the response goes to env['async.callback'] later

  def self.get(handler) = { 'GET' => handler, 'HEAD' => handler }

  ROUTES = {
    %r{\A/index\z} => get(:index),
    %r{\A/json\z} => get(:hello),
    %r{\A/mongo\z} => get(:mongo),
    %r{\A/notes\z} => { 'POST' => :create_note },
    %r{\A/notes/[^/]+\z} => get(:read_note),
    %r{\A/agents\z} => get(:agents),
    %r{\A/gridfs/[^/]+\z} => get(:gridfs),
    %r{\A/sleep\z} => get(:pause),
    %r{\A/slow_api\z} => get(:slow_api)
  }.freeze

  NOTE = {
    id: 'note', type: 'object', required: %w[title text],
    properties: { title: { type: 'string', minLength: 1, maxLength: 200 }, text: { type: 'string', maxLength: 10_000 } }
  }.freeze

  def call(env)
    request = Rack::Request.new(env)
    problems(request) do
      _, methods = ROUTES.find { |path, _| path.match?(request.path) } || halt(404)
      handler = methods[request.request_method] || halt(405, { 'Allow' => methods.keys.join(', ') })
      send(handler, request)
    end
  end

  private

  def index(_) = respond('Hello, World!', 'text/plain; charset=utf-8')

  def hello(_) = json({ message: 'Hello, World!' })

  def mongo(request)
    slug = parameters(request).fetch('doc', 'small')
    halt(400, detail: 'doc must be small or big') unless %w[small big].include?(slug)
    defer(request) { document(MONGODB[:articles].find(slug:).first || halt(404)) }
  end

  def create_note(request)
    halt(411) if request.has_header?('HTTP_TRANSFER_ENCODING') # Thin decodes none
    halt(415) unless request.media_type == 'application/json'
    halt(413) if request.content_length.to_i > 2**20
    note = JSON.parse(request.body.read)
    errors = JSON::Validator.fully_validate(NOTE, note, parse_data: false)
    halt(400, errors:) if errors.any?
    note = { '_id' => BSON::ObjectId.new, **note.slice('title', 'text') }
    halt(400, detail: 'half a surrogate pair') unless note.values_at('title', 'text').all?(&:valid_encoding?)
    created = document(note, 201, { 'Location' => "/notes/#{note['_id']}" })
    defer(request) { MONGODB[:notes].insert_one(note) && created }
  end

  def read_note(request)
    id = last_segment(request)
    halt(404) unless BSON::ObjectId.legal?(id)
    defer(request) { document(MONGODB[:notes].find(_id: BSON::ObjectId(id)).first || halt(404)) }
  end

  def agents(request) = defer(request) { json(query(AGENTS)) }

  def gridfs(request)
    name = last_segment(request)
    defer(request) do
      file = MONGODB.database.fs.open_download_stream_by_name(name)
      info = file.file_info
      type = info.metadata&.fetch(:contentType, nil) || 'application/octet-stream'
      head = [200, { 'Content-Type' => type, 'Content-Length' => info.length.to_s }]
      request.head? ? [*head, []] : Download.new(request.env, head).read(file, info.length)
    rescue Mongo::Error::FileNotFound
      halt(404)
    end
  end

  def pause(request)
    ms = integer(request, 'ms', 1000, 0..30_000)
    EM.add_timer(ms / 1000.0) { answer(request) { json({ slept_ms: ms }) } }
    ASYNC
  end

  def slow_api(request)
    calls = integer(request, 'calls', 10, 1..50)
    ms = integer(request, 'ms', 1000, 0..5000)
    id = request.get_header('HTTP_X_REQUEST_ID')&.slice(/\A[[:print:]]+\z/) # Thin lets a line feed through
    fan_out = FanOut.new(calls, ms, { 'X-Request-Id' => id }.compact)
    fan_out.callback { |results| answer(request) { json({ results: }) } if results }
    fan_out.errback { |status, cause| answer(request) { failure(request, status, cause.inspect) } }
    request.env['async.close'].callback { fan_out.stop } # answered, or the client has left
    ASYNC
  end

  # Sends the response of the block, which runs in a thread.
  def defer(request, &)
    callback = request.env['async.callback']
    EM.defer(-> { problems(request, &) }, ->(response) { callback.call(response) if response.is_a?(Array) })
    ASYNC
  end

  def answer(request, &) = request.env['async.callback'].call(problems(request, &))

  def document(data, ...) = json(data.merge('_id' => data['_id'].to_s), ...)

  def json(data, status = 200, headers = {}) = respond(JSON.generate(data), 'application/json', status, headers)

  def respond(body, type, status = 200, headers = {})
    [status, { 'Content-Type' => type, 'Content-Length' => body.bytesize.to_s, **headers }, [body]]
  end

  def parameters(request) = Rack::Utils.parse_nested_query(request.query_string, '&')

  def last_segment(request)
    segment = Rack::Utils.unescape_path(request.path[%r{[^/]*\z}]).force_encoding('UTF-8')
    segment.valid_encoding? ? segment : halt(404)
  end

  def integer(request, name, default, range)
    value = Integer(parameters(request).fetch(name, default.to_s), 10, exception: false)
    range.cover?(value) ? value : halt(400, detail: "#{name} must be an integer in #{range}")
  end
end
