# frozen_string_literal: true

require 'addressable/uri'
require 'em-http-request'
require 'json'

# Calls to the upstream, all at the same time, over connections that are kept.
class FanOut
  class Failed < StandardError; end
  class Late < StandardError; end

  PATIENCE = 5 # seconds beyond those that the upstream is asked to take
  IDLE = 15 # seconds until a silent connection is closed: more than any call takes

  def initialize(url)
    @url = Addressable::URI.parse(url)
    @idle = []
  end

  def call(calls, ms, request_id)
    connections = Array.new(calls) { @idle.pop || connect }
    head = request_id ? { 'X-Request-Id' => request_id } : {}
    requests = connections.map.with_index do |connection, number|
      connection.get(query: { call: number, ms: }, head:, keepalive: true,
                     compressed: false, pass_cookies: false)
    end
    wait(requests, (ms / 1000.0) + PATIENCE)
    results = requests.map { |request| result(request) }
    @idle.concat(connections)
    results
  rescue Failed, Late
    connections.each { |connection| connection.close if connection.conn }
    raise
  end

  private

  def connect
    EM::HttpRequest.new(@url, inactivity_timeout: IDLE)
  end

  def wait(requests, seconds)
    fiber = Fiber.current
    multi = EM::MultiRequest.new
    requests.each_with_index { |request, number| multi.add(number, request) }
    timer = EM::Timer.new(seconds) { fiber&.raise(Late) }
    multi.callback { EM.next_tick { fiber&.resume } }
    Fiber.yield
  ensure
    fiber = nil
    timer.cancel
  end

  def result(request)
    raise Failed, request.error if request.error

    status = request.response_header.status
    answer = JSON.parse(request.response)
    return answer if status == 200 && answer.is_a?(Hash)

    raise Failed, "the upstream answered #{status}"
  rescue JSON::ParserError
    raise Failed, 'the upstream answered what is not JSON'
  end
end
