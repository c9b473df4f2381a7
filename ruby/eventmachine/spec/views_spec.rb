require 'spec_helper'

RSpec.describe 'Views' do
  let(:photo) { File.binread(File.join(Settings::FILES_DIR, 'photo.jpg')) }

  def get(target, headers = {})
    Net::HTTP.start(APP.host, APP.port) { |http| http.get(target, headers) }
  end

  def expect_problem(response, status, title)
    expect(response).to have_attributes(code: status.to_s, content_type: 'application/problem+json')
    problem = JSON.parse(response.body).except('detail')
    expect(problem).to eq('type' => 'about:blank', 'title' => title, 'status' => status)
  end

  it 'answers text' do
    expect(get('/index')).to have_attributes(code: '200', content_type: 'text/plain', body: 'Hello, World!')
  end

  it 'answers JSON' do
    response = get('/json')
    expect(response).to have_attributes(content_type: 'application/json', body: '{"message":"Hello, World!"}')
  end

  it 'answers the document that was asked for' do
    article = JSON.parse(get('/mongo?doc=big').body)
    expect(article).to include('_id' => /\A\h{24}\z/, 'slug' => 'big')
  end

  it 'answers all agents by their number' do
    agents = JSON.parse(get('/agents').body)
    expect(agents.length).to eq 50
    expect(agents).to eq(agents.sort_by { |agent| agent['number'] })
    expect(agents.first).to include('status' => 'offline')
  end

  %w[/files/photo.jpg /gridfs/photo.jpg].each do |path|
    it "answers a file at #{path}" do
      expect(get(path)).to have_attributes(code: '200', content_type: 'image/jpeg', body: photo)
    end
  end

  it 'answers after so many milliseconds' do
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    expect(get('/sleep?ms=50').body).to eq '{"slept_ms":50}'
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - start).to be >= 0.05
  end

  it 'answers all results in order and passes the request ID on' do
    results = JSON.parse(get('/slow_api?calls=3&ms=0', 'X-Request-Id' => 'mine').body)['results']
    expect(results).to eq((0..2).map { |call| { 'call' => call, 'id' => 'mine' } })
  end

  it 'answers 502 where the upstream fails' do
    expect_problem(get('/slow_api?calls=4&ms=0'), 502, 'Bad Gateway')
  end

  %w[/nothing /files/nothing.txt /files/..%2Fconfig.ru /gridfs/nothing.txt].each do |path|
    it "answers 404 at #{path}" do
      expect_problem(get(path), 404, 'Not Found')
    end
  end

  %w[/mongo?doc=huge /sleep?ms=soon /sleep?ms= /slow_api?calls=51].each do |target|
    it "answers 400 at #{target}" do
      expect_problem(get(target), 400, 'Bad Request')
    end
  end

  it 'answers 500 where a query is wrong, and only the log says why' do
    stub_const('AGENTS', 'SELECT nothing')
    expect { expect_problem(get('/agents'), 500, 'Internal Server Error') }
      .to output(/PG::UndefinedColumn/).to_stderr_from_any_process
  end

  it 'answers 503 while a database is away' do
    stub_const('MONGODB', Mongo::Client.new('mongodb://127.0.0.1:9/', server_selection_timeout: 0.1))
    stub_const('POSTGRESQL', ConnectionPool.new { PG.connect('postgresql://127.0.0.1:9/') })
    expect do
      %w[/mongo /gridfs/photo.jpg /agents].each do |path|
        expect_problem(get(path), 503, 'Service Unavailable')
      end
    end.to output.to_stderr_from_any_process
  end
end
