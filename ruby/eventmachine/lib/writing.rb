# frozen_string_literal: true

require 'eventmachine'
require 'time'
require_relative 'problem'

# Writes responses to a connection, no faster than the client reads them.
module Writing
  OUTPUT_LIMIT = 256 * 1024 # bytes that may wait for the client
  PAUSES = [0.001, 0.064].freeze # seconds between looks at what waits: the first, the longest

  STATUS_LINES = Problem::TITLES.to_h do |status, title|
    [status, "HTTP/1.1 #{status} #{title}\r\n"]
  end

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

  private

  def write(response, head_only: false, connection: nil)
    status, headers, body = response
    head = head(status, headers, connection)
    if body.is_a?(String)
      head << "Content-Length: #{body.bytesize}\r\n\r\n"
      send_data(head_only ? head : head << body)
    else
      send_data(head << "\r\n")
      stream(body, headers['Content-Length'].to_i) if body && !head_only
    end
  ensure
    body.close if !body.is_a?(String) && body.respond_to?(:close)
  end

  def head(status, headers, connection)
    head = "#{STATUS_LINES[status]}Date: #{Clock.date}\r\n"
    headers.each { |name, value| head << name << ': ' << value << "\r\n" }
    head << 'Connection: ' << connection << "\r\n" if connection
    head
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
end
