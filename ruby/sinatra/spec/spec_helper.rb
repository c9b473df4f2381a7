require 'rack/test'
require 'securerandom'
require 'socket'

ENV['APP_ENV'] = 'production'
require_relative '../app/server'

APP = Rack::Builder.parse_file('config.ru').first
DATABASE = MONGODB.database

# A GridFS file without metadata, of three chunks, of which one may be missing. The block gets its name.
def with_file(missing: nil)
  bytes = 'a' * 2500
  name = "spec-#{SecureRandom.uuid}"
  id = DATABASE.fs.upload_from_stream(name, StringIO.new(bytes), chunk_size: 1000)
  DATABASE['fs.chunks'].find(files_id: id, n: missing).delete_one if missing
  yield name, bytes
ensure
  DATABASE.fs.delete(id)
end
