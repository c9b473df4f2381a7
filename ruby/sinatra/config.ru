require_relative 'app/server'

map('/files') { run Rack::Cascade.new([Rack::Files.new(Settings::FILES_DIR), Server], [404]) }
run Server
