# frozen_string_literal: true

require_relative '../lib/framing'

RSpec.describe Framing do
  it 'knows the length of a body' do
    host = { 'Host' => 'x' }
    expect(described_class.body(host, 1)).to eq 0
    expect(described_class.body(host.merge('Content-Length' => '12'), 1)).to eq 12
    expect(described_class.body(host.merge('Transfer-Encoding' => 'Chunked'), 1)).to be_infinite
  end

  it 'trusts no length that can be read in two ways' do
    [
      { 'Content-Length' => %w[1 2] }, { 'Content-Length' => '+1' }, { 'Content-Length' => '-1' },
      { 'Content-Length' => '1', 'Transfer-Encoding' => 'chunked' },
      { 'Transfer-Encoding' => 'chunked, identity' }, { 'Host' => %w[x y] }, { 'host' => 'x' },
      { 'Content-Length' => '1', 'content-length' => '2' }
    ].each { |headers| expect(described_class.body({ 'Host' => 'x' }.merge(headers), 1)).to be_nil }
  end

  it 'refuses a half of a line end early' do
    expect(described_class.fault("GET / HTTP/1.1\nHost: x")).to eq 400
    expect(described_class.fault("GET / HTTP/1.1\r\nHost: x\r")).to be_nil
  end

  it 'refuses a head that is none' do
    expect(described_class.fault("GET / HTTP/1.1\r\nHost : x\r\n\r\n")).to eq 400
  end

  it 'tells heads that have one host and no body' do
    head = ->(*fields) { ['GET / HTTP/1.1', *fields, "\r\n"].join("\r\n") }
    plain = described_class::PLAIN_HEAD
    expect(head['A: b', 'hOST: x', 'Host-Name: y']).to match(plain)
    [[], ['Host: x', 'host: y'], ['Host: x', 'content-length: 0'], ['host : x'],
     ['Transfer-Encoding: chunked', 'Host: x'], ['Host: x', ' y']].each do |fields|
      expect(head[*fields]).not_to match(plain)
    end
  end
end
