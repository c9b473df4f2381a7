# frozen_string_literal: true

require 'cgi/escape'
require 'eventmachine'
require 'json'
require 'time'
require_relative 'conditions'
require_relative 'deadline'
require_relative 'fan_out'
require_relative 'files'
require_relative 'gridfs'
require_relative 'mongodb'
require_relative 'postgresql'
require_relative 'problem'

# Answers requests, each in a fiber: with a status, a body with its type before it, and further
# headers.
class App
  ROUTES = {
    '/index' => :index, '/json' => :hello, '/mongo' => :mongo, '/agents' => :agents,
    '/sleep' => :sleep, '/slow_api' => :slow_api
  }.freeze
  NAMED_ROUTES = { 'files' => :file, 'gridfs' => :stored_file }.freeze
  NAMED = %r{\A/(files|gridfs)/([^/]+)\z}
  FORBIDDEN = %r{\A\.|[/\\\0]}

  METHODS = %w[GET HEAD].freeze
  ALLOWED = { 'Allow' => METHODS.join(', ') }.freeze

  CONTENT_TYPES = {
    '.jpg' => 'image/jpeg', '.jpeg' => 'image/jpeg', '.png' => 'image/png', '.gif' => 'image/gif',
    '.webp' => 'image/webp', '.svg' => 'image/svg+xml', '.css' => 'text/css; charset=utf-8',
    '.js' => 'text/javascript; charset=utf-8', '.txt' => 'text/plain; charset=utf-8'
  }.freeze

  DATABASE_SECONDS = 2.5 # for an operation with all that it waits for

  AGENTS = <<~SQL
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
  SQL

  def initialize(settings)
    deadline = Deadline.new(DATABASE_SECONDS)
    @mongodb = MongoDB.new(settings.mongodb_url, settings.mongodb_pool_size, deadline)
    @gridfs = GridFS.new(@mongodb)
    @postgresql = PostgreSQL.new(settings.database_url, settings.database_pool_size, deadline)
    @files = Files.new(settings.files_dir)
    @fan_out = FanOut.new(settings.slow_api_url)
  end

  def call(request)
    route(request)
  rescue Problem => e
    e.response
  rescue Unavailable => e
    warn e.message
    Problem.new(503, headers: { 'Retry-After' => '1' }).response
  rescue StandardError => e
    warn "#{request.method} #{request.path}: #{e.full_message(highlight: false)}"
    Problem.new(500).response
  end

  private

  def route(request)
    handler = ROUTES[request.path]
    handler, name = named(request.path) unless handler
    raise Problem.new(405, headers: ALLOWED) unless METHODS.include?(request.method)

    name ? send(handler, request, name) : send(handler, request)
  end

  def named(path)
    kind, name = path.match(NAMED)&.captures
    raise Problem, 404 if kind.nil?

    [NAMED_ROUTES[kind],
     CGI.unescape(name.gsub('+', '%2B')).force_encoding(Encoding::UTF_8)]
  end

  def index(_request)
    [200, 'text/plain; charset=utf-8', 'Hello, World!']
  end

  def hello(_request)
    json({ message: 'Hello, World!' })
  end

  def mongo(request)
    slug, *more = request.values('doc')
    slug ||= 'small'
    unless more.empty? && %w[small big].include?(slug)
      raise Problem.new(400, detail: 'doc must be small or big')
    end

    article = @mongodb.find('articles', { slug: }, limit: 1).first or raise Problem, 404
    article['_id'] = article['_id'].to_s
    json(article)
  end

  def agents(_request)
    json(@postgresql.query(AGENTS))
  end

  def file(request, name)
    body = @files.open(checked(name)) or raise Problem, 404
    stat = body.stat
    etag = format('"%<time>x-%<size>x"', time: stat.mtime.to_r * 1_000_000_000, size: stat.size)
    validators = { 'ETag' => etag, 'Last-Modified' => stat.mtime.httpdate }
    return [304, nil, body.close, validators] if Conditions.not_modified?(request, etag, stat.mtime)

    validators['Accept-Ranges'] = 'bytes'
    part(body, validators, content_type(name), Conditions.range(request, etag, stat.size))
  end

  def part(body, validators, type, range)
    size = body.stat.size
    if range == :none
      body.close
      raise Problem.new(416, headers: { 'Content-Range' => "bytes */#{size}" })
    end

    return [200, type, body, validators] unless range

    validators['Content-Range'] = "bytes #{range.begin}-#{range.end - 1}/#{size}"
    [206, type, body.narrow(range), validators]
  end

  def stored_file(request, name)
    stored = @gridfs.find(checked(name)) or raise Problem, 404
    etag = %("#{stored.id}")
    return [304, nil, nil, { 'ETag' => etag }] if Conditions.not_modified?(request, etag)

    [200, stored.content_type, stored, { 'ETag' => etag }]
  end

  def checked(name)
    raise Problem, 404 if !name.valid_encoding? || name.match?(FORBIDDEN)

    name
  end

  def content_type(name)
    CONTENT_TYPES.fetch(File.extname(name), 'application/octet-stream')
  end

  def sleep(request)
    ms = integer(request, 'ms', 1000, 0..30_000)
    fiber = Fiber.current
    EM.add_timer(ms / 1000.0) { fiber.resume }
    Fiber.yield
    json({ slept_ms: ms })
  end

  def slow_api(request)
    calls = integer(request, 'calls', 10, 1..50)
    ms = integer(request, 'ms', 1000, 0..5000)
    json({ results: @fan_out.call(calls, ms, request.header('x-request-id')) })
  rescue FanOut::Failed
    raise Problem, 502
  rescue FanOut::Late
    raise Problem, 504
  end

  def integer(request, name, default, range)
    text, *more = request.values(name)
    return default if text.nil?
    return text.to_i if more.empty? && text.match?(/\A[0-9]{1,5}\z/) && range.cover?(text.to_i)

    raise Problem.new(400, detail: "#{name} must be an integer from #{range.min} to #{range.max}")
  end

  def json(value)
    [200, 'application/json', JSON.generate(value)]
  end
end
