# frozen_string_literal: true

require 'time'

# Conditional and range requests (RFC 9110, sections 13 and 14).
module Conditions
  module_function

  def not_modified?(request, etag, modified = nil)
    tags = request.header('if-none-match')
    return tags.strip == '*' || tags.scan(/"[^"]*"/).include?(etag) if tags

    since = modified && request.header('if-modified-since')
    !since.nil? && modified.to_i <= Time.httpdate(since).to_i
  rescue ArgumentError
    false
  end

  # The only range that is asked for, nil if there is none to heed, :none if it has no byte.
  def range(request, etag, size)
    asked = request.header('range')
    return if asked.nil? || request.head? || ![nil, etag].include?(request.header('if-range'))

    first, last = asked.match(/\Abytes=(\d*)-(\d*)\z/)&.captures
    return if [first, last].all? { |text| text.to_s.empty? }

    first.empty? ? suffix(last.to_i, size) : slice(first.to_i, last, size)
  end

  def suffix(length, size)
    length.zero? || size.zero? ? :none : ([size - length, 0].max...size)
  end

  def slice(first, last, size)
    last = last.empty? ? size - 1 : last.to_i
    return if last < first && first < size
    return :none if first >= size

    first...[last + 1, size].min
  end
end
