# frozen_string_literal: true

require 'eventmachine'
require 'set'
require 'socket'
require_relative 'app'
require_relative 'connection'
require_relative 'fiber_pool'

# Serves a listening socket in this process until it is told to stop.
class Server
  BACKLOG = 1024
  DESCRIPTORS = 65_536
  GRACE = 10 # seconds for what is in flight when it stops

  def self.listen(settings)
    TCPServer.new(settings.host, settings.port).tap { |socket| socket.listen(BACKLOG) }
  end

  def initialize(settings, socket)
    @settings = settings
    @socket = socket
    @connections = Set.new.compare_by_identity
  end

  def run
    EM.epoll
    EM.set_descriptor_table_size([Process.getrlimit(:NOFILE).last, DESCRIPTORS].min)
    EM.error_handler { |error| warn error.full_message(highlight: false) }
    EM.run do
      app = App.new(@settings)
      @listener = EM.attach_server(@socket, Connection, app, FiberPool.new, @connections)
      EM.add_periodic_timer(5) { @connections.to_a.each(&:close_if_idle) }
      %w[INT TERM].each { |signal| trap(signal) { EM.add_timer(0) { stop } } }
    end
  end

  private

  def stop
    return if @stopping

    @stopping = true
    EM.stop_server(@listener)
    @connections.each(&:drain)
    EM.add_timer(GRACE) { EM.stop }
    EM.add_periodic_timer(0.05) { EM.stop if @connections.empty? }
  end
end
