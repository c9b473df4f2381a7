# frozen_string_literal: true

require_relative '../lib/deadline'
require_relative '../lib/pool'

RSpec.describe Pool do
  let(:connection) { Struct.new(:number, :open?) { def close; end } }
  let(:opened) { [] }
  let(:pool) do
    described_class.new(1) { connection.new(opened.size, true).tap { |one| opened << one } }
  end

  it 'uses a connection again' do
    in_reactor { 3.times { pool.with(&:number) } }
    expect(opened.size).to eq 1
  end

  it 'hands a connection that becomes free to the fiber that waits' do
    order = []
    in_reactor do
      Fiber.new { pool.with { order << pause(0.05) } }.resume
      pool.with { order << :then }
    end
    expect(order).to eq [nil, :then]
    expect(opened.size).to eq 1
  end

  it 'replaces a connection that failed' do
    in_reactor do
      pool.with { raise Unavailable } rescue nil # rubocop:disable Style/RescueModifier
      pool.with { |one| expect(one.number).to eq 1 }
    end
  end

  it 'lets a fiber stop waiting' do
    in_reactor do
      deadline = Deadline.new(0.1)
      Fiber.new { pool.with { pause(0.4) } }.resume
      expect { deadline.limit { pool.with(&:number) } }.to raise_error(Unavailable)
      pause(0.4)
      expect(pool.with(&:number)).to eq 0
    end
  end
end
