# frozen_string_literal: true

require_relative 'server'

# Serves one listening socket in several processes, and replaces those that die.
class Prefork
  def initialize(settings, socket)
    @settings = settings
    @socket = socket
    @workers = []
  end

  def run
    %w[INT TERM].each { |signal| trap(signal) { stop } }
    start while @workers.size < @settings.workers
    until @workers.empty?
      @workers.delete(Process.wait)
      start unless @stopping
    end
  end

  private

  def start
    @workers << fork { Server.new(@settings, @socket).run }
  end

  def stop
    @stopping = true
    @socket.close
    @workers.each { |pid| Process.kill(:TERM, pid) }
  end
end
