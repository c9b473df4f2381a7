# frozen_string_literal: true

require 'eventmachine'

# Runs blocks as requests run: in a fiber, with the reactor around it.
module InReactor
  def in_reactor(seconds = 5)
    result = error = nil
    EM.run do
      EM.add_timer(seconds) { raise 'the reactor did not end' }
      Fiber.new do
        result = yield
      rescue StandardError => e
        error = e
      ensure
        EM.stop
      end.resume
    end
    error ? raise(error) : result
  end

  def pause(seconds)
    fiber = Fiber.current
    EM.add_timer(seconds) { fiber.resume }
    Fiber.yield
  end

  def port_of(signature)
    Socket.unpack_sockaddr_in(EM.get_sockname(signature)).first
  end
end

RSpec.configure do |config|
  config.include InReactor
  config.disable_monkey_patching!
end
