# frozen_string_literal: true

require 'tmpdir'
require_relative '../lib/files'

RSpec.describe Files do
  around do |example|
    Dir.mktmpdir do |folder|
      @folder = File.realpath(folder)
      File.write(File.join(@folder, 'a.txt'), '0123456789')
      example.run
    end
  end

  let(:files) { described_class.new(@folder) }

  it 'reads a part of a file' do
    body = files.open('a.txt').narrow(2...5)
    expect(body.enum_for(:each).map(&:dup)).to eq ['234']
    body.close
  end

  it 'knows no file outside its folder' do
    File.symlink('/etc/passwd', File.join(@folder, 'link'))
    expect(%w[link missing ..].map { |name| files.open(name) }).to all be_nil
  end

  it 'fails where a file is cut short' do
    body = files.open('a.txt')
    File.truncate(File.join(@folder, 'a.txt'), 0)
    expect { body.each(&:size) }.to raise_error(EOFError)
  end
end
