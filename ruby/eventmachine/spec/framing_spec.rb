# frozen_string_literal: true

require_relative '../lib/framing'

RSpec.describe Framing do
  it 'knows the length of a body' do
    host = { 'host' => 'x' }
    expect(described_class.body(host, 1)).to eq 0
    expect(described_class.body(host.merge('content-length' => '12'), 1)).to eq 12
    expect(described_class.body(host.merge('transfer-encoding' => 'Chunked'), 1)).to eq :chunked
  end

  it 'trusts no length that can be read in two ways' do
    [
      { 'content-length' => %w[1 2] }, { 'content-length' => '+1' }, { 'content-length' => '-1' },
      { 'content-length' => '1', 'transfer-encoding' => 'chunked' },
      { 'transfer-encoding' => 'chunked, identity' }, { 'host' => %w[x y] }
    ].each { |headers| expect(described_class.body({ 'host' => 'x' }.merge(headers), 1)).to be_nil }
  end

  it 'puts headers together that differ in case alone' do
    expect(described_class.fields({ 'A' => '1', 'a' => '2', 'B' => '3' }))
      .to eq('a' => %w[1 2], 'b' => '3')
  end

  it 'refuses a half of a line end early' do
    expect(described_class.fault("GET / HTTP/1.1\nHost: x")).to eq 400
    expect(described_class.fault("GET / HTTP/1.1\r\nHost: x\r")).to be_nil
  end
end
