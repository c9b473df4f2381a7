# frozen_string_literal: true

require 'json'
require 'mongo'
require 'pg'
require 'rack'

# Answers errors with problem details (RFC 9457).
module Problems
  # Both pools raise Timeout::Error when no connection comes free.
  AWAY = [Mongo::Error::NoServerAvailable, Mongo::Error::SocketError, Mongo::Error::SocketTimeoutError,
          PG::ConnectionBad, PG::UnableToSend, PG::AdminShutdown, Timeout::Error].freeze

  def problem(status, **detail)
    title = Rack::Utils::HTTP_STATUS_CODES[status]
    body = JSON.generate({ type: 'about:blank', title:, status:, **detail })
    respond(body, 'application/problem+json', status)
  end

  # Ends what problems() runs.
  def halt(...) = throw(:halt, problem(...))

  def problems(env)
    catch(:halt) { yield }
  rescue Rack::Utils::InvalidParameterError, Rack::Utils::ParameterTypeError
    problem(400)
  rescue *AWAY => e
    env['rack.errors'].puts("#{env['PATH_INFO']}: #{e.class}: #{e.message}")
    problem(503)
  rescue StandardError => e
    env['rack.errors'].puts(e.full_message(highlight: false))
    problem(500)
  end
end
