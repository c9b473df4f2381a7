require 'json'
require 'typhoeus'

require_relative 'settings'

# Calls the upstream, all calls at once, and returns their results.
module Upstream
  class Late < StandardError; end
  class Broken < StandardError; end

  def self.results(calls, delay, headers)
    timeout_ms = delay + 5000
    hydra = Typhoeus::Hydra.hydra # this thread's, which keeps its connections
    requests = Array.new(calls) do |call|
      Typhoeus::Request.new(Settings::SLOW_API_URL, params: { call:, ms: delay }, headers:, timeout_ms:)
    end
    requests.each { |request| hydra.queue(request) }
    hydra.run
    late, others = requests.map(&:response).partition(&:timed_out?)
    results = others.map { |response| result(response) } # raises first: what fails does so before the deadline
    late.empty? ? results : raise(Late, 'no answer in time')
  end

  def self.result(response)
    result = JSON.parse(response.body) if response.success? && response.code == 200
    result.is_a?(Hash) ? result : raise(Broken, "#{response.return_message}: #{response.code}, no JSON object")
  rescue JSON::ParserError, EncodingError => e
    raise Broken, e.message
  end
end
