# frozen_string_literal: true

require 'eventmachine'
require 'time'
require_relative 'problem'

# Writes responses to a connection, no faster than the client reads them. A response is a status, a
# body with its type before it, and further headers, if there are any. The body is a String, nil, or
# something with `length`, `each` and `close`.
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

  def write(response, head_only, connection)
    status, type, body, headers = response
    more = lines(headers, connection) if headers || connection
    return stream(status, type, body, more, head_only) unless body.is_a?(String)

    send_data("#{STATUS_LINES[status]}Date: #{Clock.date}\r\nContent-Type: #{type}\r\n" \
              "Content-Length: #{body.bytesize}\r\n#{more}\r\n#{body unless head_only}")
  end

  def lines(headers, connection)
    lines = headers.to_h.map { |name, value| "#{name}: #{value}\r\n" }
    lines << "Connection: #{connection}\r\n" if connection
    lines.join
  end

  def stream(status, type, body, more, head_only)
    start = "#{STATUS_LINES[status]}Date: #{Clock.date}\r\n#{more}"
    start << "Content-Type: #{type}\r\nContent-Length: #{body.length}\r\n" if body
    send_data(start << "\r\n")
    send_pieces(body) if body && !head_only
  ensure
    body&.close
  end

  def send_pieces(body)
    missing = body.length
    body.each do |piece|
      send_data(piece)
      missing -= piece.bytesize
      wait_for_room
    end
    raise Short, "#{missing} bytes are missing" unless missing.zero?
  end

  # EventMachine does not tell when what waits has been sent.
  def wait_for_room
    fiber = Fiber.current
    pause, longest = PAUSES
    while get_outbound_data_size > OUTPUT_LIMIT && !@closing
      resume if paused?
      EM.add_timer(pause) { fiber.resume }
      Fiber.yield
      pause = [pause * 2, longest].min
    end
    raise Gone if @closing
  end
end
