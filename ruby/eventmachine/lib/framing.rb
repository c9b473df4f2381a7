# frozen_string_literal: true

# Where requests begin and end. http_parser.rb takes much that RFC 9112 tells servers to refuse.
module Framing
  HEAD_LIMIT = 16 * 1024
  HEAD_END = "\r\n\r\n"
  HEAD = %r{\A[!\#$%&'*+\-.^_`|~0-9A-Za-z]+\ [^\0-\x20\x7f]+\ HTTP/1\.[01]\r\n
            (?:[!\#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*\r\n)*\r\n\z}nx
  METHOD = /\A\S+/n
  BARE = /(?<!\r)\n|\r(?!\n|\z)/n # one half of a line's end
  LENGTH = /\A[0-9]{1,15}\z/

  module_function

  # The fault of a head that has not come whole: the status to refuse it with, or nil.
  def fault(input)
    return 431 if input.bytesize > HEAD_LIMIT

    400 if input.match?(BARE)
  end

  # The parser knows a list of methods. All but these two are answered alike.
  def with_known_method(head)
    head.start_with?('GET ', 'HEAD ') ? head : head.sub(METHOD, 'POST')
  end

  # Headers by their names in lower case, those together that differ in case alone.
  def fields(headers)
    fields = headers.transform_keys(&:downcase)
    return fields if fields.size == headers.size

    headers.group_by { |name, _| name.downcase }
           .transform_values { |pairs| pairs.flat_map(&:last).then { |all| all[1] ? all : all[0] } }
  end

  # The length of a request's body, :chunked, or nil where nobody can be sure of it.
  def body(fields, minor_version)
    return if minor_version == 1 && !fields['host'].is_a?(String)

    length = fields['content-length']
    coding = fields['transfer-encoding']
    return 0 if length.nil? && coding.nil?
    return (length.to_i if LENGTH.match?(length.to_s)) if coding.nil?

    :chunked if length.nil? && coding.to_s.casecmp?('chunked') && minor_version == 1
  end
end
