# frozen_string_literal: true

require 'eventmachine'
require 'fiber'
require 'http/parser'
require 'time'
require_relative 'problem'
require_relative 'request'

# HTTP/1.1 with a client. Requests are served one after the other, each in a fiber of its own, so
# that pipelined ones are answered in order.
class Connection < EM::Connection
  HEAD_LIMIT = 16 * 1024
  # http_parser.rb takes much that RFC 9112 tells servers to refuse, or leaves open.
  HEAD = %r{\A[!\#$%&'*+\-.^_`|~0-9A-Za-z]+\ [^\0-\x20\x7f]+\ HTTP/1\.[01]\r\n
            (?:[!\#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*\r\n)*\r\n\z}nx.freeze
  # Of methods it knows a list. All but these two are answered alike.
  OTHER_METHOD = /\A(?!GET |HEAD )\S+/n.freeze
  BARE = /(?<!\r)\n|\r(?!\n|\z)/n.freeze
  LENGTH = /\A[0-9]{1,15}\z/.freeze

  OUTPUT_LIMIT = 256 * 1024 # bytes that may wait for the client
  PAUSES = [0.001, 0.064].freeze # seconds, the first and the longest, between looks at what waits
  IDLE = 75 # seconds without a byte until the connection is closed

  STATUSES = {
    200 => '200 OK', 206 => '206 Partial Content', 304 => '304 Not Modified',
    400 => '400 Bad Request', 404 => '404 Not Found', 405 => '405 Method Not Allowed',
    416 => '416 Range Not Satisfiable', 431 => '431 Request Header Fields Too Large',
    500 => '500 Internal Server Error', 502 => '502 Bad Gateway', 503 => '503 Service Unavailable',
    504 => '504 Gateway Timeout'
  }.freeze

  # The client has gone.
  class Gone < StandardError; end
  # A body is shorter than announced.
  class Short < StandardError; end

  # The time as a header tells it, made once a second.
  module Clock
    def self.date
      now = Process.clock_gettime(Process::CLOCK_REALTIME, :second)
      return @date if now == @second

      @second = now
      @date = Time.at(now).httpdate
    end
  end

  def initialize(app, connections)
    super
    @app = app
    @connections = connections
    @parser = HTTP::Parser.new(self)
    @input = String.new
    @body = 0
  end

  def post_init
    @connections << self
    self.comm_inactivity_timeout = IDLE
  end

  def unbind(_reason = nil)
    @closing = true
    @connections.delete(self)
  end

  # Answers what is under way, and closes.
  def drain
    @draining = true
    end_after_writing unless @request
  end

  def receive_data(data)
    return if @closing

    @input << data
    return advance unless @serving

    pause if @input.bytesize > HEAD_LIMIT
  end

  def on_headers_complete(headers)
    fields = headers.transform_keys(&:downcase)
    fields = merge(headers) if fields.size < headers.size
    @request = Request.new(@parser.http_method, @parser.request_url, fields, @parser.keep_alive?)
    @body = body_of(fields)
    :reset unless @body == :chunked # the parser is not to wait for a body
  end

  def on_message_complete
    @body = 0 if @body == :chunked
  end

  private

  def advance
    @advancing = true
    resume if paused?
    nil while !@closing && !@serving && take
  rescue HTTP::Parser::Error
    refuse(400)
  ensure
    @advancing = false
  end

  # Takes the next part of a request; false if it has not come whole.
  def take
    if @request.nil? then take_head
    elsif @body == :chunked then take_line
    elsif @body.positive? then take_bytes
    else serve
    end
  end

  def take_head
    @input.delete_prefix!("\r\n") # RFC 9112, section 2.2
    size = @input.index("\r\n\r\n")&.+(4)
    return refuse(431) if (size || @input.bytesize) > HEAD_LIMIT
    return @input.match?(BARE) && refuse(400) if size.nil?

    head = @input.slice!(0, size)
    return refuse(400) unless head.match?(HEAD)

    @parser << head.sub(OTHER_METHOD, 'POST')
    @parser.reset! if @parser.upgrade? # or it would take what follows for another protocol
    return refuse(400) if @body.nil?

    send_data("HTTP/1.1 100 Continue\r\n\r\n") if @body != 0 && @request.header('expect')
    true
  end

  # The last byte of a chunked body ends a line: no line holds the start of another request.
  def take_line
    return false if @input.empty?

    @parser << @input.slice!(0, (@input.index("\n") || @input.bytesize) + 1)
    true
  end

  def take_bytes
    return false if @input.empty?

    @body -= @input.slice!(0, @body).bytesize
    true
  end

  # Names that differ in case alone.
  def merge(headers)
    headers.group_by { |name, _| name.downcase }
           .transform_values { |pairs| pairs.flat_map(&:last).then { |all| all[1] ? all : all[0] } }
  end

  # The length of the body that follows, :chunked, or nil where no one can be sure of it.
  def body_of(fields)
    return if @parser.http_minor == 1 && !fields['host'].is_a?(String)

    length = fields['content-length']
    coding = fields['transfer-encoding']
    return length ? (LENGTH.match?(length.to_s) ? length.to_i : nil) : 0 unless coding

    :chunked if length.nil? && coding.to_s.casecmp?('chunked') && @parser.http_minor == 1
  end

  def serve
    @serving = true
    Fiber.new { answer }.resume
    true
  end

  def answer
    status, headers, body = @app.call(@request)
    write(status, headers, body) unless @closing
  rescue StandardError => e
    warn "#{@request.method} #{@request.path}: #{e.message}" unless e.is_a?(Gone)
    @closing = true
    close_connection # the headers are out: the client must see that the body is cut
  ensure
    body.close if body.respond_to?(:close)
    @request = nil
    @serving = false
    advance unless @advancing
  end

  def write(status, headers, body)
    keep = @request.keep_alive? && !@draining
    head = "HTTP/1.1 #{STATUSES[status]}\r\nDate: #{Clock.date}\r\n"
    headers.each { |name, value| head << name << ': ' << value << "\r\n" }
    head << "Content-Length: #{body.bytesize}\r\n" if body.is_a?(String)
    head << "Connection: #{keep ? 'keep-alive' : 'close'}\r\n" if !keep || @parser.http_minor.zero?
    head << "\r\n"
    write_body(head, headers, body)
    end_after_writing unless keep
  end

  def write_body(head, headers, body)
    if @request.head? || body.nil? then send_data(head)
    elsif body.is_a?(String) then send_data(head << body)
    else
      send_data(head)
      stream(body, headers['Content-Length'].to_i)
    end
  end

  def stream(body, length)
    body.each do |piece|
      send_data(piece)
      length -= piece.bytesize
      wait_for_room
    end
    raise Short, "#{length} bytes are missing" unless length.zero?
  end

  # EventMachine does not tell when what waits has been sent.
  def wait_for_room
    fiber = Fiber.current
    pause, longest = PAUSES
    while get_outbound_data_size > OUTPUT_LIMIT && !@closing
      EM.add_timer(pause) { fiber.resume }
      Fiber.yield
      pause = [pause * 2, longest].min
    end
    raise Gone if @closing
  end

  def refuse(status)
    problem = Problem.new(status)
    send_data("HTTP/1.1 #{STATUSES[status]}\r\nDate: #{Clock.date}\r\nConnection: close\r\n" \
              "Content-Type: #{Problem::TYPE}\r\nContent-Length: #{problem.body.bytesize}\r\n\r\n" \
              "#{problem.body}")
    end_after_writing
  end

  def end_after_writing
    @closing = true
    close_connection_after_writing
    false
  end
end
