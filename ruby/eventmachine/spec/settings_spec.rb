# frozen_string_literal: true

require_relative '../lib/settings'

RSpec.describe Settings do
  let(:good) { { 'FILES_DIR' => __dir__, 'SLOW_API_URL' => 'http://127.0.0.1:1/' } }

  it 'has defaults' do
    expect(described_class.from(good)).to have_attributes(port: 8000, workers: 1, host: '127.0.0.1')
  end

  {
    'PORT' => '65536', 'WORKERS' => '0', 'MONGODB_URL' => 'mongodb://user@host/name',
    'DATABASE_URL' => 'mysql://host', 'FILES_DIR' => '/nowhere', 'SLOW_API_URL' => ''
  }.each do |name, value|
    it "refuses #{name}=#{value}" do
      expect { described_class.from(good.merge(name => value)) }
        .to raise_error(Settings::Error, /#{name}/)
    end
  end
end
