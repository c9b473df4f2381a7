require_relative 'app/server'

run Rack::Cascade.new([Rack::URLMap.new('/files' => Rack::Files.new(Settings::FILES_DIR)), Server], [404])
