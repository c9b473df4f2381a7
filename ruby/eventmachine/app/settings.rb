Bundler.require(:default)

# What the environment sets.
module Settings
  # A value that the block fails on is not shown: a URL may hold a password.
  def self.read(name, default = nil)
    yield ENV.fetch(name, default)
  rescue StandardError
    abort "#{name} is missing or not valid"
  end

  HOST = ENV.fetch('HOST', '127.0.0.1')
  PORT = read('PORT', '8000') { |port| Integer(port) }
  MONGODB_URL = read('MONGODB_URL', 'mongodb://127.0.0.1:27017/refservers') { |url| Mongo::URI.get(url) && url }
  MONGODB_POOL_SIZE = read('MONGODB_POOL_SIZE', '32') { |size| Integer(size) }
  DATABASE_URL = read('DATABASE_URL', 'postgresql://refservers@127.0.0.1:5432/refservers') do |url|
    PG::Connection.conninfo_parse(url) && url
  end
  DATABASE_POOL_SIZE = read('DATABASE_POOL_SIZE', '10') { |size| Integer(size) }
  FILES_DIR = read('FILES_DIR') { |folder| Dir.new(folder).path }
  SLOW_API_URL = read('SLOW_API_URL') { |url| URI(url).is_a?(URI::HTTP) ? url : raise }
end
