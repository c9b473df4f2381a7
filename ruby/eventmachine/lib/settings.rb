# frozen_string_literal: true

require 'uri'

# What the environment says.
Settings = Struct.new(
  :host, :port, :workers, :mongodb_url, :mongodb_pool_size, :database_url, :database_pool_size,
  :files_dir, :slow_api_url, keyword_init: true
)

# Reads the settings; a bad one raises an error that names it.
class Settings
  class Error < StandardError; end

  MONGODB = %r{\Amongodb://[^/@,?]+/\w+\z}
  POSTGRESQL = %r{\Apostgres(ql)?://}
  HTTP = %r{\Ahttps?://[^/]}

  class << self
    def from(env)
      new(
        host: env.fetch('HOST', '127.0.0.1'),
        port: number(env, 'PORT', 8000, 65_535),
        workers: number(env, 'WORKERS', 1, 1024),
        mongodb_url: url(env, 'MONGODB_URL', MONGODB, 'mongodb://127.0.0.1:27017/refservers'),
        mongodb_pool_size: number(env, 'MONGODB_POOL_SIZE', 100, 10_000),
        database_url: url(env, 'DATABASE_URL', POSTGRESQL,
                          'postgresql://refservers@127.0.0.1:5432/refservers'),
        database_pool_size: number(env, 'DATABASE_POOL_SIZE', 10, 10_000),
        files_dir: folder(env, 'FILES_DIR'),
        slow_api_url: url(env, 'SLOW_API_URL', HTTP)
      )
    end

    private

    def number(env, name, default, highest)
      text = env.fetch(name, default.to_s)
      return text.to_i if text.match?(/\A[0-9]{1,5}\z/) && text.to_i.between?(1, highest)

      raise Error, "#{name} must be a number from 1 to #{highest}, not #{text.inspect}"
    end

    def url(env, name, form, default = '')
      text = env.fetch(name, default)
      return text if text.match?(form) && URI.parse(text).host

      raise Error, "#{name} must be a URL like #{form.source}, not #{text.inspect}"
    rescue URI::InvalidURIError
      raise Error, "#{name} must be a URL, not #{text.inspect}"
    end

    def folder(env, name)
      path = env.fetch(name, '')
      return File.realpath(path) if File.directory?(path)

      raise Error, "#{name} must be a folder, not #{path.inspect}"
    end
  end
end
