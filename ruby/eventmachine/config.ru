# frozen_string_literal: true

require_relative 'app/settings'
require_relative 'app/views'

views = Views.new

map '/files' do
  run Rack::Cascade.new([Rack::Files.new(Settings::FILES_DIR), views], [404])
end

run views
