# frozen_string_literal: true

require 'eventmachine'
require 'http/parser'
require 'strscan'
require_relative 'framing'
require_relative 'problem'
require_relative 'request'
require_relative 'writing'

# HTTP/1.1 with a client. What has come is served in a fiber, one request after the other, so that
# handlers may wait, and pipelined requests are answered in order.
class Connection < EM::Connection
  include Writing

  IDLE = 75 # seconds without a byte until it is closed
  INPUT_LIMIT = 1024 * 1024 # bytes that may wait while a body is sent

  def initialize(app, fibers, connections)
    super
    @app = app
    @fibers = fibers
    @connections = connections
    @parser = HTTP::Parser.new(self)
    @input = StringScanner.new('')
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

    @input.string = @input.eos? ? data : @input.rest << data
    return advance unless @serving

    close_connection if @input.rest_size > INPUT_LIMIT
  end

  # Serves requests that have come whole, until one of them has had to wait.
  def call
    @serving = true
    nil until @waited || @closing || @input.eos? || !(@request ? take_body : take_head)
  rescue HTTP::Parser::Error
    refuse(400)
  ensure
    @serving = false
    advance if @waited && !@closing
  end

  def on_headers_complete(headers)
    @body ||= Framing.body(headers, @parser.http_minor)
    @request = Request.new(@parser.http_method, @parser.request_url, headers)
    :reset unless @body&.infinite? # the parser is not to wait for a body
  end

  def on_message_complete
    @body = 0 if @body&.infinite?
  end

  private

  # Nothing is read while a handler waits: once EventMachine has read that the client will send no
  # more it closes the connection, and the client may still want its answer.
  def advance
    @waited = false
    @fibers.run(self)
    @waited = @serving
    pause if @handling && get_outbound_data_size.zero? # as nothing is written either
  end

  # False where the head has not come whole.
  def take_head
    size = @input.skip(Framing::PLAIN_HEAD) or return take_other
    @body = 0
    parse(size == @input.string.bytesize ? @input.string : @input.matched) # `matched` copies
  end

  # The parser knows a list of methods. All but GET and HEAD are answered alike.
  def take_other
    @body = nil
    if (method = @input.scan(Framing::METHOD))
      method = 'POST' unless %w[GET HEAD].include?(method)
      return parse("#{method}#{@input.scan(Framing::AFTER_METHOD)}")
    end
    return true if @input.skip(Framing::LINE_END) # RFC 9112, section 2.2

    status = Framing.fault(@input.rest)
    status && refuse(status)
  end

  def parse(head)
    return refuse(431) if head.bytesize > Framing::HEAD_LIMIT

    @parser.reset! # or it would raise no error, and after an upgrade expect another protocol
    @parser << head
    return refuse(400) unless @body
    return serve if @body == 0 # rubocop:disable Style/NumericPredicate

    send_data("HTTP/1.1 100 Continue\r\n\r\n") if @request.header('expect')
    true
  end

  def take_body
    if @body.infinite?
      take_line
    else
      size = [@body, @input.rest_size].min
      @input.pos += size
      @body -= size
    end
    @body == 0 ? serve : true # rubocop:disable Style/NumericPredicate
  end

  # The last byte of a chunked body ends a line: no line holds the start of another request.
  def take_line
    @parser << (@input.scan_until(/\n/) || @input.scan(/.+/m))
  end

  def serve
    @handling = true
    response = @app.call(@request)
    @handling = false
    respond(response) unless @closing
    true
  rescue StandardError => e
    warn "#{@request.method} #{@request.path}: #{e.message}" unless e.is_a?(Gone)
    @closing = true
    close_connection # the headers are out: the client must see that the body is cut
  ensure
    @request = nil
    resume if @waited
  end

  def respond(response)
    keep = @parser.keep_alive? && !@draining
    connection = keep ? ('keep-alive' if @parser.http_minor.zero?) : 'close'
    write(response, @request.head?, connection)
    end_after_writing if !keep || @draining
  end

  def refuse(status)
    write(Problem.new(status).response, false, 'close')
    end_after_writing
  end

  def end_after_writing
    @closing = true
    close_connection_after_writing
    false
  end
end
