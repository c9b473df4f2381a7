# frozen_string_literal: true

require 'json'

# An answer other than the one hoped for, as problem details (RFC 9457).
class Problem < StandardError
  TYPE = 'application/problem+json'
  TITLES = {
    200 => 'OK', 206 => 'Partial Content', 304 => 'Not Modified',
    400 => 'Bad Request', 404 => 'Not Found', 405 => 'Method Not Allowed',
    416 => 'Range Not Satisfiable', 431 => 'Request Header Fields Too Large',
    500 => 'Internal Server Error', 502 => 'Bad Gateway', 503 => 'Service Unavailable',
    504 => 'Gateway Timeout'
  }.freeze

  def initialize(status, detail: nil, headers: nil)
    super(detail || TITLES[status])
    @status = status
    @detail = detail
    @headers = headers
  end

  def body
    problem = { type: 'about:blank', title: TITLES[@status], status: @status }
    problem[:detail] = @detail if @detail
    JSON.generate(problem)
  end

  def response
    [@status, TYPE, body, @headers]
  end
end
