# frozen_string_literal: true

require_relative 'app/problems'
require_relative 'app/settings'
require_relative 'app/views'

map '/files' do
  run Rack::Cascade.new([Rack::Files.new(Settings::FILES_DIR), Problems::NOT_FOUND])
end

run Views.new
