# frozen_string_literal: true

require 'socket'
require_relative '../lib/mongodb'

RSpec.describe MongoDB do
  # Answers each command with itself, in two pieces.
  let(:echo) do
    Class.new(EM::Connection) do
      def receive_data(data)
        asked = BSON::Document.from_bson(BSON::ByteBuffer.new(data[21..]))
        body = { ok: 1, cursor: { firstBatch: [asked] } }.to_bson.to_s
        answer = [21 + body.bytesize, 7, 1, 2013, 0, 0, body].pack('l<4L<Ca*')
        send_data(answer[0, 30])
        EM.add_timer(0.01) { send_data(answer[30..]) }
      end
    end
  end
  let(:silent) { Class.new(EM::Connection) }

  def find(handler)
    in_reactor do
      server = EM.start_server('127.0.0.1', 0, handler)
      url = "mongodb://127.0.0.1:#{port_of(server)}/name"
      described_class.new(url, 1, Deadline.new(0.2)).find('articles', { slug: 'a' }, limit: 1)
    end
  end

  it 'sends a command and gives the documents' do
    expect(find(echo)).to eq [{ 'find' => 'articles', 'filter' => { 'slug' => 'a' }, 'limit' => 1,
                                'singleBatch' => true, '$db' => 'name' }]
  end

  it 'does not wait for ever' do
    expect { find(silent) }.to raise_error(Unavailable, /MongoDB: no answer/)
  end
end
