# frozen_string_literal: true

require 'set'
require 'socket'
require 'stringio'
require_relative '../lib/connection'
require_relative '../lib/fiber_pool'

RSpec.describe Connection do
  # Answers with what was asked for; the slower, the longer its path.
  let(:app) do
    lambda do |request|
      pause(request.path.size / 1000.0)
      [200, 'text/plain', "#{request.method} #{request.path};"]
    end
  end

  def exchange(*pieces, &)
    in_reactor do
      server = EM.start_server('127.0.0.1', 0, described_class, app, FiberPool.new, Set.new)
      port = port_of(server)
      client = Thread.new { talk(port, pieces, &) }
      pause(0.02) while client.alive?
      client.value
    end
  end

  def talk(port, pieces)
    TCPSocket.open('127.0.0.1', port) do |socket|
      pieces.each { |piece| socket.write(piece) && sleep(0.01) }
      yield socket if block_given?
      socket.read
    end
  end

  def get(path, *headers)
    ["GET #{path} HTTP/1.1", 'Host: x', *headers, "\r\n"].join("\r\n")
  end

  it 'answers pipelined requests in order' do
    answer = exchange(get('/a/long/path') + get('/b') + get('/c', 'Connection: close'))
    expect(answer.scan(/GET \S+;/)).to eq ['GET /a/long/path;', 'GET /b;', 'GET /c;']
  end

  it 'answers a client that sends no more' do
    expect(exchange(get('/a/long/path'), &:close_write)).to end_with 'GET /a/long/path;'
  end

  it 'sends an answer while the next request is served' do
    answer = nil
    exchange(get('/a') + get("/#{'b' * 300}")) do |socket|
      sleep(0.1)
      answer = socket.read_nonblock(1000)
      socket.close_write
    end
    expect(answer).to end_with 'GET /a;'
  end

  context 'with a body that takes a while to send' do
    let(:app) do
      lambda do |request|
        text = "#{request.path};"
        [200, 'text/plain', request.path == '/long' ? StringIO.new(text * 1_000_000) : text]
      end
    end

    it 'goes on to take requests' do
      answer = exchange(get('/long') + (get('/b') * 1000) + get('/c', 'Connection: close'))
      expect(answer).to end_with('/c;')
      expect(answer.scan('/b;').size).to eq 1000
    end
  end

  it 'takes requests in pieces' do
    expect(exchange(*get('/a', 'connection: close').chars)).to end_with 'GET /a;'
  end

  it 'passes over bodies' do
    chunked = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    length = "PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    get_too = "#{get('/c', 'Content-Length: 3')}abc"
    answer = exchange(chunked + length + get_too + get('/d', 'Connection: close'))
    expect(answer.scan(%r{\w+ /\w;})).to eq ['POST /a;', 'POST /b;', 'GET /c;', 'GET /d;']
  end

  it 'goes on after an upgrade that it does not make' do
    upgrade = get('/a', 'Connection: Upgrade', 'Upgrade: h2c')
    answer = exchange((upgrade * 2) + get('/b', 'Connection: close'))
    expect(answer.scan(%r{GET /\w;})).to eq ['GET /a;', 'GET /a;', 'GET /b;']
  end

  it 'refuses a later request like the first' do
    expect(exchange(get('/a') + get('no-path'))).to match(%r{/a;HTTP/1.1 400 })
  end

  it 'refuses what others might read in another way' do
    ["GET / HTTP/1.1\nHost: x\n\n", get('/', 'A : b'), get('/', 'A: b', ' c'),
     get('/', "A: #{'b' * 20_000}")].each do |request|
      expect(exchange(request)).to match(%r{\AHTTP/1.1 4\d\d })
    end
  end
end
