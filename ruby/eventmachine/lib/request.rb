# frozen_string_literal: true

require 'cgi/escape'

# What a client asks for. Header names are in lower case.
class Request
  ORIGIN = %r{\Ahttps?://[^/?]*}i

  attr_reader :method, :path

  def initialize(method, target, headers, keep_alive)
    @method = method
    target = target.sub(ORIGIN, '') unless target.start_with?('/')
    @path, @query = target.include?('?') ? target.split('?', 2) : target
    @headers = headers
    @keep_alive = keep_alive
  end

  def keep_alive?
    @keep_alive
  end

  def head?
    @method == 'HEAD'
  end

  def header(name)
    value = @headers[name]
    value.is_a?(Array) ? value.join(', ') : value
  end

  # All values that the query gives to a name.
  def values(name)
    members = @query.to_s.split('&').map { |member| member.split('=', 2) }
    members.filter_map { |key, value| CGI.unescape(value.to_s) if CGI.unescape(key.to_s) == name }
  end
end
