require 'rack/test'
require 'securerandom'
require 'socket'

require_relative '../app/views'

Thread.new { EM.run }
sleep 0.01 until EM.reactor_running?

CONFIG = Rack::Builder.parse_file('config.ru').first
DATABASE = MONGODB.database

# The application for Rack::Test, which knows nothing of responses that come later.
APP = lambda do |env|
  whole = Queue.new
  respond = lambda do |(status, headers, body)|
    chunks = []
    body.each { |chunk| chunks << chunk }
    finish = -> { whole << [status, headers, chunks] }
    body.is_a?(Download) ? body.callback(&finish) : finish.call
  end
  env.update('async.callback' => respond, 'async.close' => EM::DefaultDeferrable.new)
  EM.next_tick { CONFIG.call(env).then { |response| respond.call(response) unless response == Views::ASYNC } }
  whole.pop
end

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
