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
    stop if @stopping # told so meanwhile
  end

  def stop
    @stopping = true
    @socket.close
    @workers.each do |pid|
      Process.kill(:TERM, pid)
    rescue Errno::ESRCH
      next # it has ended by itself
    end
  end
end
