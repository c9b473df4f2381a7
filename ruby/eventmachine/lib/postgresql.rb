# frozen_string_literal: true

require 'eventmachine'
require 'pg'
require_relative 'deadline'
require_relative 'pool'

# Queries without blocking the reactor: pg's asynchronous calls, its socket watched by EventMachine.
class PostgreSQL
  AWAY = [
    PG::ConnectionBad, PG::UnableToSend, PG::ConnectionException, PG::OperatorIntervention,
    PG::InsufficientResources
  ].freeze

  # Tells that a socket is ready.
  class Watch < EM::Connection
    def initialize(ready)
      super()
      @ready = ready
    end

    def notify_readable
      @ready.call
    end
    alias notify_writable notify_readable
  end

  # A connection, with one query at a time.
  class Connection
    def initialize(url)
      @pg = PG::Connection.connect_start(url)
      connect
      @watch = EM.watch(@pg.socket_io, Watch, -> { @fiber ? @fiber.resume : close })
      @watch.notify_readable = true
    rescue StandardError
      close
      raise
    end

    def query(sql)
      @pg.send_query_params(sql, [])
      while (part = next_result)
        result = part
      end
      result.check
      result.to_a
    ensure
      @fiber = nil
    end

    def open?
      !@pg.nil?
    end

    def close
      @watch&.detach
      @pg&.finish
      @watch = @pg = nil
    end

    private

    def connect
      status = PG::PGRES_POLLING_WRITING
      until status == PG::PGRES_POLLING_OK
        raise PG::ConnectionBad, @pg.error_message if status == PG::PGRES_POLLING_FAILED

        wait_until_ready(status)
        status = @pg.connect_poll
      end
    end

    # The socket can be another after each step.
    def wait_until_ready(status)
      fiber = Fiber.current
      watch = EM.watch(@pg.socket_io, Watch, -> { fiber.resume })
      watch.notify_readable = status == PG::PGRES_POLLING_READING
      watch.notify_writable = status == PG::PGRES_POLLING_WRITING
      Fiber.yield
    ensure
      watch&.detach
    end

    def next_result
      @fiber = Fiber.current
      while @pg.is_busy
        Fiber.yield
        @pg.consume_input
      end
      @pg.get_result
    end
  end

  def initialize(url, pool_size, deadline)
    @deadline = deadline
    @pool = Pool.new(pool_size) { Connection.new(url) }
  end

  def query(sql)
    @deadline.limit { @pool.with { |connection| connection.query(sql) } }
  rescue Unavailable, *AWAY => e
    raise Unavailable, "PostgreSQL: #{e.message.strip}"
  end
end
