require 'addressable'
require 'dotenv/load' # .env; what is set already wins
require 'mongo'
require 'pg'

# What the environment sets. No wrong value is shown: a URL may hold a password.
module Settings
  @faults = []

  def self.read(name, default = nil)
    yield ENV.fetch(name, default)
  rescue StandardError
    @faults << name
  end

  def self.integer(name, default, range = (1..))
    read(name, default) { |value| Integer(value, 10).tap { |number| range.cover?(number) || raise } }
  end

  # The arguments of Mongo::Client.new: on Ruby 3, Debian's driver cannot decode these parts of a URL.
  def self.mongodb(text)
    url = Addressable::URI.parse(text)
    query = url.query_values || {}
    options = { database: url.path.delete_prefix('/'), user: url.user, password: url.password,
                replica_set: query.delete('replicaSet'), auth_source: query.delete('authSource') }
    bare = url.merge(userinfo: nil, path: '/', query: Addressable::URI.form_encode(query)).to_s
    options.delete_if { |_, value| value.to_s.empty? }
    Mongo::URI.get(bare) && [bare, options.transform_values { |value| Addressable::URI.unencode(value) }]
  end

  HOST = ENV.fetch('HOST', '127.0.0.1')
  PORT = integer('PORT', '8000', 1..65_535)
  WORKERS = integer('WORKERS', '1')
  THREADS = integer('THREADS', '5')
  MONGODB = read('MONGODB_URL', 'mongodb://127.0.0.1:27017/refservers') { |url| mongodb(url) }
  MONGODB_POOL_SIZE = integer('MONGODB_POOL_SIZE', '32')
  DATABASE_URL = read('DATABASE_URL', 'postgresql://refservers@127.0.0.1:5432/refservers') do |url|
    PG::Connection.conninfo_parse(url) && url
  end
  DATABASE_POOL_SIZE = integer('DATABASE_POOL_SIZE', '10')
  FILES_DIR = read('FILES_DIR') { |folder| Dir.new(folder).path }
  SLOW_API_URL = read('SLOW_API_URL') { |url| URI(url).is_a?(URI::HTTP) ? url : raise }

  abort "missing or not valid: #{@faults.join(', ')}" if @faults.any?
end
