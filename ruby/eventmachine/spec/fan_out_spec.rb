# frozen_string_literal: true

require 'socket'
require_relative '../lib/fan_out'

RSpec.describe FanOut do
  # Answers with the call's number after 0.1 s.
  let(:upstream) do
    Class.new(EM::Connection) do
      def receive_data(data)
        body = %({"call":#{data[/call=(\d+)/, 1]}})
        status = data.include?('bad') ? '500 Bad' : '200 OK'
        EM.add_timer(0.1) do
          send_data("HTTP/1.1 #{status}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
        end
      end
    end
  end

  def call(request_id)
    in_reactor do
      server = EM.start_server('127.0.0.1', 0, upstream)
      fan_out = described_class.new("http://127.0.0.1:#{port_of(server)}/")
      Array.new(2) { fan_out.call(5, 100, request_id) }.last
    end
  end

  it 'makes all calls together, and gives the answers in order' do
    start = Time.now
    expect(call(nil)).to eq(Array.new(5) { |number| { 'call' => number } })
    expect(Time.now - start).to be < 0.45
  end

  it 'fails where one of them fails' do
    expect { call('bad') }.to raise_error(FanOut::Failed)
  end
end
