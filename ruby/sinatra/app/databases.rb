require 'connection_pool'

require_relative 'settings'

Mongo::Logger.level = Logger::WARN
url, options = Settings::MONGODB
MONGODB = Mongo::Client.new(url, max_pool_size: Settings::MONGODB_POOL_SIZE, wait_queue_timeout: 3, connect_timeout: 2,
                                 server_selection_timeout: 3, socket_timeout: 2, **options)
POSTGRESQL = ConnectionPool.new(size: Settings::DATABASE_POOL_SIZE, timeout: 3) do
  PG.connect(Settings::DATABASE_URL, connect_timeout: 3, options: '-c statement_timeout=4000')
end

AGENTS = <<~SQL.freeze
  SELECT f.number, s.extension, s.context, s.state_interface,
         'offline' AS status, '-1' AS extension_status, '0' AS paused
    FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
SQL

def query(sql)
  POSTGRESQL.with do |connection| # which may be broken, or still waiting
    connection.reset unless connection.transaction_status == PG::PQTRANS_IDLE
    connection.send_query(sql)
    connection.block(4) || raise(PG::ConnectionBad, 'no answer within 4 s')
    connection.get_last_result.to_a
  end
end
