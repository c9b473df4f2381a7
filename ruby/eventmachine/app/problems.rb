# Answers errors with problem details (RFC 9457).
module Problems
  AWAY = [Mongo::Error::NoServerAvailable, Mongo::Error::SocketError, Mongo::Error::SocketTimeoutError,
          PG::ConnectionBad, PG::UnableToSend, PG::AdminShutdown, Timeout::Error].freeze # the last from a pool in use

  def problem(status, **detail)
    title = Rack::Utils::HTTP_STATUS_CODES[status]
    body = { type: 'about:blank', title:, status:, **detail }
    respond(JSON.generate(body), 'application/problem+json', status)
  end

  def halt(...) = throw(:halt, problem(...))

  def problems(env, &)
    catch(:halt, &)
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
