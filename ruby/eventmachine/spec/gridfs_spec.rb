# frozen_string_literal: true

require_relative '../lib/gridfs'

RSpec.describe GridFS do
  let(:mongodb) do
    Class.new do
      def find(collection, filter, **)
        if collection =~ /files/
          return [{ '_id' => 1, 'length' => 5 }].select do
                   filter[:filename] == 'a'
                 end
        end

        data = { 0 => 'abc', 1 => 'de' }[filter[:n]]
        [{ 'data' => Struct.new(:data).new(data.dup) }]
      end
    end.new
  end

  it 'gives the chunks in order' do
    expect(described_class.new(mongodb).find('a').enum_for(:each).map(&:dup)).to eq %w[abc de]
  end

  it 'knows what is not there' do
    expect(described_class.new(mongodb).find('b')).to be_nil
  end
end
