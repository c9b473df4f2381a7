# frozen_string_literal: true

require 'socket'
require_relative '../lib/postgresql'

RSpec.describe PostgreSQL do
  it 'does not wait for ever' do
    in_reactor do
      port = port_of(EM.start_server('127.0.0.1', 0, Class.new(EM::Connection)))
      database = described_class.new("postgresql://a@127.0.0.1:#{port}/a", 1, Deadline.new(0.2))
      expect { database.query('SELECT 1') }.to raise_error(Unavailable, /PostgreSQL/)
    end
  end

  it 'tells that nobody listens' do
    in_reactor do
      database = described_class.new('postgresql://a@127.0.0.1:1/a', 1, Deadline.new(0.2))
      expect { database.query('SELECT 1') }.to raise_error(Unavailable, /PostgreSQL/)
    end
  end

  it 'queries, where there is a database', if: ENV.fetch('DATABASE_URL', nil) do
    in_reactor do
      database = described_class.new(ENV.fetch('DATABASE_URL'), 1, Deadline.new(2))
      expect(database.query('SELECT 1 AS one, NULL AS two')).to eq ['one' => '1', 'two' => nil]
      expect { database.query('SELECT nonsense') }.to raise_error(PG::UndefinedColumn)
    end
  end
end
