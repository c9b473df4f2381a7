# frozen_string_literal: true

# Where requests begin and end. http_parser.rb takes much that RFC 9112 tells servers to refuse.
module Framing
  HEAD_LIMIT = 16 * 1024
  LINE_END = "\r\n"
  HEAD_END = "\r\n\r\n"
  TOKEN = /[!\#$%&'*+\-.^_`|~0-9A-Za-z]++/n
  FIELD = /#{TOKEN}:[^\0\r\n]*+\r\n/n
  AFTER_METHOD = %r{\ [^\0-\x20\x7f]++\ HTTP/1\.[01]\r\n(?:#{FIELD})*+\r\n}n
  METHOD = /#{TOKEN}(?=#{AFTER_METHOD})/n
  OTHER_FIELDS = /(?:(?!(?i:Host|Content-Length|Transfer-Encoding):)#{FIELD})*+/n
  # Most heads: one Host, and no body, so that `body` need not look at the headers.
  PLAIN_HEAD = %r{(?:GET|HEAD)\ [^\0-\x20\x7f]++\ HTTP/1\.1\r\n
                  #{OTHER_FIELDS}(?i:Host):[^\0\r\n]*+\r\n#{OTHER_FIELDS}\r\n}nx
  BARE = /(?<!\r)\n|\r(?!\n|\z)/n # one half of a line's end
  LENGTH = /\A[0-9]{1,15}\z/

  module_function

  # The fault of input that does not begin with a head: the status to refuse it with, or nil where
  # more of it may come.
  def fault(input)
    return 431 if input.bytesize > HEAD_LIMIT

    400 if input.include?(HEAD_END) || input.match?(BARE)
  end

  # The length of a request's body, infinite until all chunks have come, or nil where nobody can be
  # sure of it.
  def body(headers, minor_version)
    host = length = coding = nil
    headers.each do |name, value| # an array, where the same name came twice
      case name.downcase
      when 'host' then host = host ? :twice : value
      when 'content-length' then length = length ? :twice : value
      when 'transfer-encoding' then coding = coding ? :twice : value
      end
    end
    length(length, coding, minor_version) if host.is_a?(String) || minor_version.zero?
  end

  def length(length, coding, minor_version)
    if coding.nil?
      length.nil? ? 0 : (length.to_i if LENGTH.match?(length.to_s))
    elsif length.nil? && coding.to_s.casecmp?('chunked') && minor_version == 1
      Float::INFINITY
    end
  end
end
