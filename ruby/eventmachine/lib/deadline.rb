# frozen_string_literal: true

require 'eventmachine'

# A database cannot be reached or does not answer in time.
class Unavailable < StandardError; end

# Bounds the time that fibers spend in an operation, with one timer for all of them: EventMachine
# keeps a cancelled timer until it would have fired.
class Deadline
  INTERVAL = 0.1

  def initialize(seconds)
    @seconds = seconds
    @ends = {}.compare_by_identity # the first to end comes first, as all have the same time
    EM.add_periodic_timer(INTERVAL) { expire }
  end

  def limit
    @ends[Fiber.current] = now + @seconds
    yield
  ensure
    @ends.delete(Fiber.current)
  end

  private

  def expire
    while (fiber, ends = @ends.first) && ends <= now
      @ends.delete(fiber)
      fiber.raise(Unavailable, "no answer within #{@seconds} s")
    end
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
