require_relative 'app/views'

views = Views.new

map('/files') { run Rack::Cascade.new([Rack::Files.new(Settings::FILES_DIR), views], [404]) }
run views
