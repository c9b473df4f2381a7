# frozen_string_literal: true

require 'json'
require 'mongo'
require 'pg'
require 'rack'
require 'timeout'

# Raised by a view to answer with its status.
class Problem < StandardError
  attr_reader :status, :detail

  def initialize(status, detail = nil)
    super(Rack::Utils::HTTP_STATUS_CODES[status])
    @status = status
    @detail = detail
  end

  def response
    body = { type: 'about:blank', title: message, status: status, detail: detail }.compact
    headers = { 'Content-Type' => 'application/problem+json' }
    Rack::Response.new(JSON.generate(body), status, headers).finish
  end
end

# Answers errors with problem details (RFC 9457).
module Problems
  # Timeout::Error is what both pools raise when no connection comes free.
  AWAY = [
    Mongo::Error::NoServerAvailable, Mongo::Error::SocketError, Mongo::Error::SocketTimeoutError,
    PG::ConnectionBad, PG::UnableToSend, PG::AdminShutdown, Timeout::Error
  ].freeze

  NOT_FOUND = ->(_env) { Problem.new(404).response }

  def problems(env)
    yield
  rescue Problem => e
    e.response
  rescue *AWAY => e
    env['rack.errors'].puts("#{env['PATH_INFO']}: #{e.class}: #{e.message}")
    Problem.new(503).response
  rescue StandardError => e
    env['rack.errors'].puts(e.full_message(highlight: false))
    Problem.new(500).response
  end
end
