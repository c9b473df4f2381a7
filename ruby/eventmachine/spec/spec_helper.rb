require 'json'
require 'net/http'
require 'socket'

Bundler.require(:default)

Thin::Logging.silent = true
Thread.new { EM.run }
sleep 0.01 until EM.reactor_running?

# Serves an application on a free port, and tells its URL.
def serve(app)
  port = TCPServer.open('127.0.0.1', 0) { |socket| socket.addr[1] }
  started = Queue.new
  EM.schedule { started << Thin::Server.new('127.0.0.1', port, app, signals: false).start }
  started.pop
  URI("http://127.0.0.1:#{port}/")
end

# Answers with the number of the call, and fails from number 3 on.
upstream = lambda do |env|
  call = Rack::Request.new(env).GET['call'].to_i
  [call < 3 ? 200 : 500, {}, [JSON.generate(call:, id: env['HTTP_X_REQUEST_ID'])]]
end

ENV['SLOW_API_URL'] = serve(upstream).to_s
APP = serve(Rack::Builder.parse_file('config.ru').first)
