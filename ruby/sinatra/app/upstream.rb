require 'json'
require 'typhoeus'

require_relative 'settings'

# Calls the upstream, all calls at once, and returns their results.
module Upstream
  class Late < StandardError; end
  class Broken < StandardError; end

  def self.results(calls, delay, headers)
    timeout_ms = delay + 5000
    hydra = Typhoeus::Hydra.new(max_concurrency: calls)
    requests = Array.new(calls) do |call|
      Typhoeus::Request.new(Settings::SLOW_API_URL, params: { call:, ms: delay }, headers:, timeout_ms:, nosignal: true)
    end
    requests.each { |request| hydra.queue(request) }
    hydra.run
    requests.map { |request| result(request.response) }
  end

  def self.result(response)
    raise Late, 'no answer in time' if response.timed_out?

    result = JSON.parse(response.body) if response.code == 200
    result.is_a?(Hash) ? result : raise(Broken, "#{response.return_message}: #{response.code}, no JSON object")
  rescue JSON::ParserError, EncodingError => e
    raise Broken, e.message
  end
end
