# frozen_string_literal: true

require_relative '../lib/conditions'
require_relative '../lib/request'

RSpec.describe Conditions do
  def request(headers)
    Request.new('GET', '/', headers)
  end

  it 'compares entity tags weakly' do
    expect(described_class).to be_not_modified(request('if-none-match' => '"b", W/"a"'), '"a"')
    expect(described_class).not_to be_not_modified(request('if-none-match' => '"b"'), '"a"')
  end

  it 'compares dates, where there are no entity tags' do
    since = { 'if-modified-since' => Time.at(100).httpdate }
    expect(described_class).to be_not_modified(request(since), '"a"', Time.at(100.5))
    expect(described_class).not_to be_not_modified(request(since), '"a"', Time.at(101))
  end

  {
    'bytes=0-9' => 0...10, 'bytes=90-200' => 90...100, 'bytes=-10' => 90...100,
    'bytes=95-' => 95...100, 'bytes=100-' => :none, 'bytes=5-2' => nil, 'bytes=-' => nil,
    'bytes=0-1,3-4' => nil
  }.each do |text, range|
    it "reads #{text} as #{range.inspect}" do
      expect(described_class.range(request('range' => text), '"a"', 100)).to eq range
    end
  end
end
