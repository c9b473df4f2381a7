# frozen_string_literal: true

require 'eventmachine'

# Connections that fibers share. They are opened when needed, and a fiber that finds all of them
# busy is handed the next that becomes free. The block opens one; each has `open?` and `close`.
class Pool
  def initialize(size, &open)
    @open = open
    @free = size
    @idle = []
    @waiting = []
  end

  def with
    connection = place
    begin
      connection ||= @open.call
      result = yield connection
      kept = true
    ensure
      kept ? release(connection) : discard(connection)
    end
    result
  end

  private

  # An idle connection, or nil where there is room for a new one.
  def place
    while (connection = @idle.pop)
      return connection if connection.open?

      @free += 1
    end
    return wait if @free.zero?

    @free -= 1
    nil
  end

  def wait
    @waiting << Fiber.current
    Fiber.yield
  rescue StandardError
    @waiting.delete(Fiber.current)
    raise
  end

  def release(connection)
    if (fiber = @waiting.shift)
      fiber.resume(connection)
    else
      @idle << connection
    end
  end

  # What one connection suffered the idle ones may have suffered too.
  def discard(connection)
    connection&.close
    @free += @idle.size
    @idle.each(&:close).clear
    @free += 1
    EM.next_tick do
      while @free.positive? && (fiber = @waiting.shift)
        @free -= 1
        fiber.resume(nil)
      end
    end
  end
end
