require 'spec_helper'

require 'net/http'
require 'tmpdir'

JSON_BODY = { 'Content-Type' => 'application/json' }.freeze

RSpec.describe 'The process' do # as a user starts it
  around { |example| Dir.mktmpdir { |folder| (@folder = folder) && example.run } }

  after do |example|
    puts log if example.exception && @process
    Process.kill(:KILL, @process) && Process.wait(@process) if @process
    @bound&.close
  end

  def log = File.read("#{@folder}/log")

  def start(settings)
    @process = spawn(settings, 'thin', 'start', '-C', 'thin.yml', %i[out err] => "#{@folder}/log")
  end

  def ended
    status = Process.wait2(@process).last.exitstatus
    @process = nil
    status
  end

  # Bound, so that no other program gets it; a server may listen there.
  def free_port
    @bound = Socket.new(:INET, :STREAM)
    @bound.setsockopt(:SOCKET, :REUSEADDR, true)
    @bound.bind(Addrinfo.tcp('127.0.0.1', 0))
    @bound.local_address.ip_port
  end

  def serve(settings = {})
    @port = free_port
    start({ 'HOST' => '127.0.0.1', 'PORT' => @port.to_s, **settings })
    600.times do
      return TCPSocket.new('127.0.0.1', @port).close
    rescue Errno::ECONNREFUSED
      sleep 0.05
    end
  end

  def http(&) = Net::HTTP.start('127.0.0.1', @port, read_timeout: 15, max_retries: 0, &)

  def get(target, headers = {}) = http { |http| http.get(target, headers) }

  # Net::HTTP takes a body that ends early.
  def cut?(target)
    response = get(target)
    response.body.bytesize < response['Content-Length'].to_i
  rescue EOFError
    true
  end

  def post(text) = http { |http| http.post('/notes', text, JSON_BODY) }

  # A server that accepts connections, and sends each of them an answer.
  def listen(answer = nil)
    server = TCPServer.new('127.0.0.1', 0)
    Thread.new { loop { (@accepted ||= []) << server.accept.tap { |socket| socket << answer } } }
    server.addr[1]
  end

  it 'lets a request in flight finish at SIGTERM' do
    serve
    get('/index')
    slow = Thread.new { get('/sleep?ms=4000') }
    sleep 1.5
    Process.kill(:TERM, @process)
    expect(slow.value.body).to eq '{"slept_ms":4000}'
    expect(ended).to eq 0
  end

  it 'ends with all bad settings named, and no password' do
    bad = { 'PORT' => '70000', 'MONGODB_URL' => 'mongodb://me:secret@host:99999/x', 'MONGODB_POOL_SIZE' => '12abc',
            'DATABASE_URL' => 'me:secret@host', 'DATABASE_POOL_SIZE' => '3.5', 'FILES_DIR' => 'Gemfile',
            'SLOW_API_URL' => 'nonsense' }
    start(bad)
    expect(ended).not_to eq 0
    expect(log).to include(*bad.keys)
    expect(log).not_to include 'secret'
  end

  it 'reads .env, whole URLs included, where the environment has nothing' do
    url = 'mongodb://me:p%40ss@one,two:27018/theirs?replicaSet=rs0&ssl=true'
    File.write("#{@folder}/.env", "MONGODB_URL=#{url}\nPORT=1\nUNKNOWN=1\n")
    print = "require '#{Dir.pwd}/app/settings'; p Settings::PORT, Settings::MONGODB"
    options = { database: 'theirs', user: 'me', password: 'p@ss', replica_set: 'rs0' }
    output, input = IO.pipe
    settings = { 'MONGODB_URL' => nil, 'PORT' => '2', 'FILES_DIR' => File.expand_path(Settings::FILES_DIR) }
    system(settings, 'ruby', '-e', print, out: input, chdir: @folder)
    input.close
    expect(output.read).to eq "2\n#{['mongodb://one,two:27018/?ssl=true', options]}\n"
  end

  it 'answers 503 while PostgreSQL stays silent, 504 if the upstream does, and logs each once' do
    port = listen
    serve('DATABASE_URL' => "postgresql://me:secret@127.0.0.1:#{port}/x", 'SLOW_API_URL' => "http://127.0.0.1:#{port}/")
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    late = Thread.new { get('/slow_api?calls=5&ms=0') }
    expect(get('/agents').code).to eq '503'
    expect(late.value.code).to eq '504'
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began).to be < 15
    expect(log.scan(/ERROR.*"(.*?)":/)).to eq [['/agents'], ['/slow_api']]
    expect(log).not_to include 'secret'
  end

  it 'answers 502 if the upstream fails, ends its other calls, and logs why once' do
    { 'HTTP/1.1 200 OK' => '[]', 'HTTP/1.1 302 Found' => '', 'nonsense' => '' }.each do |line, body|
      serve('SLOW_API_URL' => "http://127.0.0.1:#{listen("#{line}\r\nContent-Length: #{body.size}\r\n\r\n#{body}")}/")
      expect(get('/slow_api?calls=3').code).to eq '502'
      expect(log.scan('ERROR').size).to eq 1
      Process.kill(:KILL, @process) && ended
    end
  end

  it 'survives an upstream whose name is unknown' do
    serve('SLOW_API_URL' => 'http://unknown.invalid/')
    expect(get('/slow_api').code).to eq '502'
    expect(get('/index').code).to eq '200'
  end

  it 'ends the calls to the upstream of a client that leaves, and logs nothing' do
    serve('SLOW_API_URL' => "http://127.0.0.1:#{listen}/")
    client = TCPSocket.new('127.0.0.1', @port)
    client << "GET /slow_api?calls=3 HTTP/1.1\r\nHost: x\r\n\r\n"
    sleep 0.05 until @accepted&.size == 3
    client.close
    @accepted.each { |call| call.each_line.to_a } # until it is closed
    expect(log).not_to include 'ERROR'
  end

  it 'ends a connection whose file lacks a chunk' do
    serve
    [1, 2].each do |missing|
      with_file(missing:) { |name| expect(cut?("/gridfs/#{name}")).to be true }
    end
    expect(get('/index').code).to eq '200'
  end

  it 'answers 404 to paths that leave the folder' do
    serve
    %w[/files/../config.ru /files/..%2fconfig.ru /files//etc/passwd].each do |path|
      expect(get(path).code).to eq '404'
    end
  end

  it 'stores a note, and refuses what is none and a chunked body' do
    serve
    created = post('{"title":"a process","text":"é"}')
    expect(get(created['Location']).body).to eq created.body
    expect(post('{"title":"a process"}').code).to eq '400'
    chunked = Net::HTTP::Post.new('/notes', **JSON_BODY, 'Transfer-Encoding' => 'chunked')
    chunked.body_stream = StringIO.new('{"title":"a process","text":""}')
    expect(http { |http| http.request(chunked) }.code).to eq '411'
    expect(DATABASE[:notes].find(title: 'a process').delete_many.n).to eq 1
  end
end
