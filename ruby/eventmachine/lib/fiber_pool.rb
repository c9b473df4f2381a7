# frozen_string_literal: true

# Runs tasks in fibers that are used again: the stack of a new one costs more than most tasks.
class FiberPool
  KEPT = 100

  def initialize
    @idle = []
  end

  def run(task)
    (@idle.pop || make).resume(task)
  end

  private

  def make
    fiber = Fiber.new do |task|
      task.call
      while @idle.size < KEPT
        @idle << fiber
        Fiber.yield.call
      end
    end
  end
end
