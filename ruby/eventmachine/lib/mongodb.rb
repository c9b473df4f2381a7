# frozen_string_literal: true

require 'bson'
require 'eventmachine'
require 'uri'
require_relative 'deadline'
require_relative 'pool'

# Finds documents without blocking the reactor: MongoDB's OP_MSG
# (https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/) over EventMachine.
class MongoDB
  class Error < StandardError; end

  # Codes of a server that is stopping, or that is not (or no longer) the primary.
  AWAY = [91, 189, 10_107, 11_600, 11_602, 13_435, 13_436].freeze

  # A connection, with one command at a time.
  class Connection < EM::Connection
    OP_MSG = 2013
    HEADER = 21 # bytes before the document: length, ids, code, flags and the kind of section

    def initialize
      super
      @input = BSON::ByteBuffer.new
    end

    def command(document)
      body = document.to_bson.to_s
      send_data([HEADER + body.bytesize, 1, 0, OP_MSG, 0, 0, body].pack('l<4L<Ca*'))
      @fiber = Fiber.current
      Fiber.yield
    ensure
      @fiber = nil
    end

    def receive_data(data)
      @input.put_bytes(data)
      data.clear # rather than wait for the collector: GridFS brings much
      @missing ||= @input.get_int32 - 4 if @input.length >= 4
      return if @missing.nil? || @input.length < @missing

      @missing = nil
      @input.get_bytes(HEADER - 4)
      @fiber&.resume(BSON::Document.from_bson(@input))
    end

    def unbind(reason = nil)
      @closed = true
      @fiber&.raise(Unavailable, "the connection is closed: #{reason || 'by the server'}")
    end

    def open?
      !@closed
    end

    def close
      @closed = true
      close_connection
    end
  end

  def initialize(url, pool_size, deadline)
    uri = URI.parse(url)
    @database = uri.path.delete_prefix('/')
    @deadline = deadline
    @pool = Pool.new(pool_size) do
      EM.connect(uri.hostname, uri.port || 27_017, Connection)
    rescue EM::ConnectionError => e
      raise Unavailable, e.message
    end
  end

  def find(collection, filter, **options)
    command = { find: collection, filter:, **options, singleBatch: true, '$db': @database }
    reply = @deadline.limit { @pool.with { |connection| connection.command(command) } }
    fail_with(reply) unless reply['ok'] == 1

    reply['cursor']['firstBatch']
  rescue Unavailable => e
    raise Unavailable, "MongoDB: #{e.message}"
  end

  private

  def fail_with(reply)
    raise AWAY.include?(reply['code']) ? Unavailable : Error, reply['errmsg']
  end
end
