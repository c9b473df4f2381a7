# Calls of the upstream, all at once. It succeeds with their results, or fails with a status and the first cause.
class FanOut
  include EM::Deferrable

  def initialize(calls, milliseconds, head)
    seconds = (milliseconds / 1000.0) + 5
    timeout(seconds, 504, "no answer within #{seconds} s")
    limits = { connect_timeout: seconds + 1, inactivity_timeout: seconds + 1 } # this deadline comes first
    @connections = Array.new(calls) { EM::HttpRequest.new(Settings::SLOW_API_URL, limits) }
    @results = {}
    @connections.each_with_index do |connection, call|
      http = connection.get(query: { call:, ms: milliseconds }, head:)
      http.errback { fail(502, http.error) }
      http.callback { receive(call, http) }
    end
  end

  # Its success, without results, leaves nothing to fail.
  def stop
    succeed
    @connections.select(&:conn).each(&:close)
  end

  private

  def receive(call, http)
    status = http.response_header.status
    @results[call] = JSON.parse(http.response) if status == 200
    return fail(502, "#{status}, no JSON object") unless @results[call].is_a?(Hash)

    succeed(@results.sort.map(&:last)) if @results.size == @connections.size
  rescue JSON::ParserError, EncodingError => e
    fail(502, e.message)
  end
end
