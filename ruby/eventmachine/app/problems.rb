require 'json'
require 'logger'
require 'rack'

require_relative 'databases'

# Answers errors with problem details (RFC 9457), and logs the cause of each 5xx.
module Problems
  LOG = Logger.new($stderr)
  MALFORMED = [JSON::ParserError, Rack::Utils::InvalidParameterError, Rack::Utils::ParameterTypeError,
               Rack::QueryParser::ParamsTooDeepError].freeze
  AWAY = [Mongo::Error::NoServerAvailable, Mongo::Error::SocketError, Mongo::Error::SocketTimeoutError,
          PG::ConnectionBad, PG::UnableToSend, PG::OperatorIntervention,
          Timeout::Error].freeze # from a pool, or a silent MongoDB

  def problem(status, headers = {}, **members)
    title = Rack::Utils::HTTP_STATUS_CODES[status]
    body = JSON.generate({ type: 'about:blank', title:, status:, **members })
    respond(body, 'application/problem+json', status, headers)
  end

  def halt(...) = throw(:halt, problem(...))

  def problems(request, &)
    catch(:halt, &)
  rescue *MALFORMED
    problem(400)
  rescue *AWAY => e
    failure(request, 503, e.message.inspect)
  rescue StandardError => e
    failure(request, 500, "#{e.class}: #{e.message.inspect}\n\t#{e.backtrace.join("\n\t")}")
  end

  def failure(request, status, cause)
    LOG.error("#{request.path.inspect}: #{cause}")
    problem(status)
  end
end
