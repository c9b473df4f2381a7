# frozen_string_literal: true

require 'eventmachine'
require 'http/parser'
require_relative 'framing'
require_relative 'problem'
require_relative 'request'
require_relative 'writing'

# HTTP/1.1 with a client. Requests are served one after the other, each in a fiber of its own, so
# that pipelined ones are answered in order.
class Connection < EM::Connection
  include Writing

  IDLE = 75 # seconds without a byte until it is closed

  def initialize(app, fibers, connections)
    super
    @app = app
    @fibers = fibers
    @task = method(:answer)
    @connections = connections
    @parser = HTTP::Parser.new(self)
    @input = String.new
  end

  def post_init
    @connections << self
  end

  # Looked at now and then: EventMachine's own timeout costs something at each read and write.
  def close_if_idle
    close_connection if get_idle_time > IDLE
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

    @input.empty? ? @input = data : @input << data
    return advance unless @serving

    pause if @input.bytesize > Framing::HEAD_LIMIT
  end

  def on_headers_complete(headers)
    fields = Framing.fields(headers)
    @body = Framing.body(fields, @parser.http_minor)
    @request = Request.new(@parser.http_method, @parser.request_url, fields, @parser.keep_alive?)
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

  # Takes the next part of a request; false where it has not come whole.
  def take
    return take_head unless @request
    return serve if @body == 0 # rubocop:disable Style/NumericPredicate
    return false if @input.empty?

    @body == :chunked ? take_line : @body -= @input.slice!(0, @body).bytesize
    true
  end

  def take_head
    @input.delete_prefix!("\r\n") # RFC 9112, section 2.2
    size = @input.index(Framing::HEAD_END)
    return Framing.fault(@input)&.then { |status| refuse(status) } if size.nil?

    head = cut(size + Framing::HEAD_END.bytesize)
    return refuse(431) if head.bytesize > Framing::HEAD_LIMIT
    return refuse(400) unless head.match?(Framing::HEAD)

    parse(head)
  end

  def cut(size)
    return @input.slice!(0, size) if size < @input.bytesize

    head = @input
    @input = String.new
    head
  end

  def parse(head)
    @parser.reset! if @parser.upgrade? # or it would take this for another protocol
    @parser << Framing.with_known_method(head)
    return refuse(400) if @body.nil?

    send_data("HTTP/1.1 100 Continue\r\n\r\n") if @body != 0 && @request.header('expect')
    true
  end

  # The last byte of a chunked body ends a line: no line holds the start of another request.
  def take_line
    @parser << @input.slice!(0, (@input.index("\n") || @input.bytesize) + 1)
  end

  def serve
    @serving = true
    @fibers.run(@task)
    true
  end

  def answer
    response = @app.call(@request)
    respond(response) unless @closing
  rescue StandardError => e
    warn "#{@request.method} #{@request.path}: #{e.message}" unless e.is_a?(Gone)
    @closing = true
    close_connection # the headers are out: the client must see that the body is cut
  ensure
    @request = nil
    @serving = false
    advance unless @advancing
  end

  def respond(response)
    keep = @request.keep_alive? && !@draining
    connection = keep ? ('keep-alive' if @parser.http_minor.zero?) : 'close'
    write(response, head_only: @request.head?, connection:)
    end_after_writing if !keep || @draining
  end

  def refuse(status)
    write(Problem.new(status).response, connection: 'close')
    end_after_writing
  end

  def end_after_writing
    @closing = true
    close_connection_after_writing
    false
  end
end
