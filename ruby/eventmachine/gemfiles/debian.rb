# frozen_string_literal: true

require 'uri'

# Debian's mongo 2.5.1 calls it, Ruby 3 no longer has it, and later versions of the gem do without
# (https://github.com/mongodb/mongo-ruby-driver/pull/1614).
def URI.decode(text) = URI::DEFAULT_PARSER.unescape(text)
