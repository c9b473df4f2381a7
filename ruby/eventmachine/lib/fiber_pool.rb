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
    Fiber.new do |task|
      while task
        task.call
        task = rest
      end
    end
  end

  def rest
    return if @idle.size >= KEPT

    @idle << Fiber.current
    Fiber.yield
  end
end
