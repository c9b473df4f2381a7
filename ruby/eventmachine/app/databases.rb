require_relative 'settings'

Mongo::Logger.level = Logger::WARN
MONGODB = Mongo::Client.new(Settings::MONGODB_URL, max_pool_size: Settings::MONGODB_POOL_SIZE,
                                                   server_selection_timeout: 3)
POSTGRESQL = ConnectionPool.new(size: Settings::DATABASE_POOL_SIZE) { PG.connect(Settings::DATABASE_URL) }
EM.threadpool_size = Settings::MONGODB_POOL_SIZE + Settings::DATABASE_POOL_SIZE # both drivers block

AGENTS = <<~SQL.freeze
  SELECT f.number, s.extension, s.context, s.state_interface,
         'offline' AS status, '-1' AS extension_status, '0' AS paused
    FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
SQL
