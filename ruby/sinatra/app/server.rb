require 'json'
require 'json-schema'
require 'logger'
require 'sinatra/base'

require_relative 'databases'
require_relative 'upstream'

# The application.
class Server < Sinatra::Base
  LOG = Logger.new($stderr)
  AWAY = [Mongo::Error::NoServerAvailable, Mongo::Error::SocketError, Mongo::Error::SocketTimeoutError,
          PG::ConnectionBad, PG::UnableToSend, PG::OperatorIntervention,
          Timeout::Error].freeze # from a pool, or a silent MongoDB

  NOTE = {
    id: 'note', type: 'object', required: %w[title text],
    properties: { title: { type: 'string', minLength: 1, maxLength: 200 }, text: { type: 'string', maxLength: 10_000 } }
  }.freeze

  set :default_content_type, 'application/json'
  set :dump_errors, false # they are logged below

  get('/index') { content_type('text/plain') && 'Hello, World!' }

  get('/json') { JSON.generate({ message: 'Hello, World!' }) }

  get '/mongo' do
    slug = params.fetch('doc', 'small')
    halt 400 unless %w[small big].include?(slug)
    document(MONGODB[:articles].find(slug:).first)
  end

  post '/notes' do
    halt 415 unless request.media_type == 'application/json'
    halt 413 if request.content_length.to_i > 2**20
    note = JSON.parse(request.body.read)
    errors = JSON::Validator.fully_validate(NOTE, note, parse_data: false)
    halt 400, problem(400, errors:) if errors.any?
    note = { '_id' => BSON::ObjectId.new, **note.slice('title', 'text') }
    halt 400 unless note.values_at('title', 'text').all?(&:valid_encoding?) # half a surrogate pair
    created = document(note)
    MONGODB[:notes].insert_one(note)
    [201, { 'Location' => "/notes/#{note['_id']}" }, created]
  end

  get '/notes/:id' do |id|
    halt 404 unless id.valid_encoding? && BSON::ObjectId.legal?(id)
    document(MONGODB[:notes].find(_id: BSON::ObjectId(id)).first)
  end

  get('/agents') { JSON.generate(query(AGENTS)) }

  get '/gridfs/:name' do |name|
    halt 404 unless name.valid_encoding?
    file = MONGODB.database.fs.open_download_stream_by_name(name)
    info = file.file_info
    content_type info.metadata&.fetch(:contentType, nil) || 'application/octet-stream'
    headers 'Content-Length' => info.length.to_s
    stream do |out|
      begin
        sent = file.sum { |chunk| (out << chunk) && chunk.bytesize }
      ensure
        file.close unless file.closed? # otherwise MongoDB's cursor stays if a client leaves
      end
      raise EOFError, 'the last chunks are missing' if sent < info.length
    rescue StandardError => e
      LOG.error("#{request.path.inspect}: #{e.class}: #{e.message.inspect}") unless e.is_a?(Puma::ConnectionError)
      raise EOFError # at which Puma closes the connection; at any other, it first writes a 500 into the file
    end
  rescue Mongo::Error::FileNotFound
    halt 404
  end

  get '/sleep' do
    ms = integer('ms', 1000, 0..30_000)
    sleep(ms / 1000.0)
    JSON.generate({ slept_ms: ms })
  end

  get '/slow_api' do
    calls = integer('calls', 10, 1..50)
    ms = integer('ms', 1000, 0..5000)
    results = Upstream.results(calls, ms, { 'X-Request-Id' => request.get_header('HTTP_X_REQUEST_ID') }.compact)
    JSON.generate({ results: })
  end

  error(400..599, Sinatra::Error) { problem(response.status) }
  error(JSON::ParserError, Rack::QueryParser::ParamsTooDeepError, Rack::Multipart::MultipartPartLimitError,
        Rack::Multipart::MultipartTotalPartLimitError) { problem(400) }
  error(*AWAY) { failure(503) }
  error(Upstream::Broken) { failure(502) }
  error(Upstream::Late) { failure(504) }
  error(StandardError) { failure(500) }

  def document(data) = data ? JSON.generate(data.merge('_id' => data['_id'].to_s)) : halt(404)

  def integer(name, default, range)
    value = Integer(params.fetch(name, default.to_s), 10, exception: false)
    range.cover?(value) ? value : halt(400, problem(400, detail: "#{name} must be an integer in #{range}"))
  end

  # Problem details (RFC 9457).
  def problem(status, **members)
    status(status)
    content_type 'application/problem+json'
    JSON.generate({ type: 'about:blank', title: Rack::Utils::HTTP_STATUS_CODES[status], status:, **members })
  end

  def failure(status)
    error = env['sinatra.error']
    trace = error.backtrace.map { |line| "\n\t#{line}" }.join if status == 500
    LOG.error("#{request.path.inspect}: #{error.class}: #{error.message.inspect}#{trace}")
    problem(status)
  end
end
