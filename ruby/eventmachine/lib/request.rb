# frozen_string_literal: true

require 'cgi/escape'

# What a client asks for.
class Request
  ORIGIN = %r{\Ahttps?://[^/?]*}i

  attr_reader :method, :path

  def initialize(method, target, headers)
    @method = method
    target = target.sub(ORIGIN, '') unless target.start_with?('/')
    @path = target
    @path, @query = target.split('?', 2) if target.include?('?')
    @headers = headers
  end

  def head?
    @method == 'HEAD'
  end

  # The value of a header, in whatever case its name is written.
  def header(name)
    values = @headers.filter_map { |other, value| value if other.casecmp?(name) }
    values.join(', ') unless values.empty?
  end

  # All values that the query gives to a name.
  def values(name)
    members = @query.to_s.split('&').map { |member| member.split('=', 2) }
    members.filter_map { |key, value| CGI.unescape(value.to_s) if CGI.unescape(key.to_s) == name }
  end
end
