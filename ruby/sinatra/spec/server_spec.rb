require 'spec_helper'

RSpec.describe Server do
  include Rack::Test::Methods

  def app = APP

  def post_note(text, headers = {}) = post('/notes', text, 'CONTENT_TYPE' => 'application/json', **headers)

  def body = JSON.parse(last_response.body)

  def expect_problem(status, title)
    expect(last_response).to have_attributes(status:, content_type: 'application/problem+json')
    expect(body.except('detail', 'errors')).to eq('type' => 'about:blank', 'title' => title, 'status' => status)
  end

  it 'answers text' do
    get '/index'
    expect(last_response).to have_attributes(content_type: 'text/plain;charset=utf-8', body: 'Hello, World!')
  end

  it 'answers JSON' do
    get '/json'
    expect(last_response).to have_attributes(content_type: 'application/json', body: '{"message":"Hello, World!"}')
  end

  it 'answers the document that was asked for' do
    { '/mongo' => 'small', '/mongo?doc=big' => 'big' }.each do |path, slug|
      get path
      expect(body).to include('_id' => /\A\h{24}\z/, 'slug' => slug)
    end
  end

  it 'stores a note, which comes back as it was' do
    note = { 'title' => '😀' * 200, 'text' => "Bread, salt, café\n\u0000" * 500 }
    post_note(JSON.generate(note))
    expect(last_response.status).to eq 201
    id = body['_id']
    created = last_response
    expect(body).to eq('_id' => id, **note)
    get created['Location']
    expect(last_response.body).to eq created.body
    expect(DATABASE[:notes].find(_id: BSON::ObjectId(id)).delete_one.n).to eq 1
  end

  it 'refuses what is no note, and stores nothing' do
    count = DATABASE[:notes].count
    bodies = ['', '{', 'null', '[]', '"config.ru"', '{"title":"a"}', '{"title":1,"text":""}', '{"title":"","text":""}',
              %({"title":"#{'a' * 201}","text":""}), '{"title":"\ud800","text":""}', '{"title":"a\udc00","text":""}',
              "{\"title\":\"\xFF\",\"text\":\"\"}"]
    bodies.each do |text|
      post_note(text)
      expect_problem(400, 'Bad Request')
    end
    post_note(JSON.generate(title: 'large', text: 'a' * (2**20)))
    expect_problem(413, 'Payload Too Large')
    post_note('{"title":"a","text":""}', 'CONTENT_TYPE' => 'text/plain')
    expect_problem(415, 'Unsupported Media Type')
    expect(DATABASE[:notes].count).to eq count
  end

  it 'answers all agents by their number' do
    get '/agents'
    expect(body.length).to eq 50
    expect(body).to eq(body.sort_by { |agent| agent['number'] })
  end

  it 'answers a file, and its head alone' do
    photo = File.binread(File.join(Settings::FILES_DIR, 'photo.jpg'))
    %w[/files/photo.jpg /gridfs/photo.jpg].each do |path|
      { get: photo, head: '' }.each do |method, bytes|
        send(method, path)
        headers = { 'Content-Type' => 'image/jpeg', 'Content-Length' => photo.bytesize.to_s }
        expect(last_response).to have_attributes(status: 200, body: bytes, headers: include(headers))
      end
    end
  end

  it 'answers a file without metadata' do
    with_file do |name, bytes|
      get "/gridfs/#{name}"
      expect(last_response).to have_attributes(content_type: 'application/octet-stream', body: bytes)
    end
  end

  it 'answers after so many milliseconds' do
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    get '/sleep?ms=50'
    expect(body).to eq('slept_ms' => 50)
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - start).to be >= 0.05
  end

  it 'answers 400 for a parameter that is empty, no number or out of bounds' do
    %w[/mongo?doc=huge /sleep?ms= /sleep?ms=soon /sleep?ms=-1 /sleep?ms=30001 /slow_api?calls=51 /sleep?ms=%ff
       /sleep?ms[]=1].each do |target|
      get target
      expect_problem(400, 'Bad Request')
    end
  end

  it 'answers 404 where nothing is' do
    %w[/ /nothing /index/ /files/nothing /files/index /files/..%2Fconfig.ru /gridfs/nothing /gridfs/%ff /notes/1
       /notes/%ff /notes/ffffffffffffffffffffffff].each do |path|
      get path
      expect_problem(404, 'Not Found')
    end
  end

  it 'runs no handler for a method that is not meant' do
    %w[/index /notes].each do |path|
      delete path
      expect_problem(404, 'Not Found')
    end
  end

  it 'answers 500 where a query is wrong, and only the log says why' do
    stub_const('AGENTS', 'SELECT nothing')
    expect { get '/agents' }.to output(/PG::UndefinedColumn/).to_stderr_from_any_process
    expect_problem(500, 'Internal Server Error')
  end
end
