import { existsSync, realpathSync } from 'node:fs';

const { env } = process;

export const settings = {
  host: env.HOST || '127.0.0.1',
  port: number('PORT', 8000, 65535),
  workers: number('WORKERS', 1, 1024),
  mongodbUrl: url('MONGODB_URL', /^mongodb(\+srv)?:/, 'mongodb://127.0.0.1:27017/refservers'),
  mongodbPoolSize: number('MONGODB_POOL_SIZE', 100, 10_000),
  databaseUrl: url(
    'DATABASE_URL',
    /^postgres(ql)?:/,
    'postgresql://refservers@127.0.0.1:5432/refservers',
  ),
  databasePoolSize: number('DATABASE_POOL_SIZE', 10, 10_000),
  filesDir: folder('FILES_DIR'),
  slowApiUrl: url('SLOW_API_URL', /^https?:/),
};

/**
 * End the process: a setting is not what it must be.
 * @param {string} name
 * @param {string} kind
 * @returns {never}
 */
export function badSetting(name, kind) {
  console.error(`bad setting: ${name} must be ${kind}, not ${JSON.stringify(env[name] ?? '')}`);
  process.exit(2);
}

/**
 * @param {string} name
 * @param {number} fallback
 * @param {number} highest
 */
function number(name, fallback, highest) {
  const text = env[name] ?? String(fallback);
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= highest ? value : badSetting(name, `a number from 1 to ${highest}`);
}

/**
 * @param {string} name
 * @param {RegExp} scheme
 * @param {string} [fallback]
 */
function url(name, scheme, fallback = '') {
  const text = env[name] ?? fallback;
  const isUrl = URL.canParse(text) || text.includes(','); // MongoDB's may name several hosts
  return isUrl && scheme.test(text) ? text : badSetting(name, 'a URL');
}

/** @param {string} name */
function folder(name) {
  const path = env[name];
  return path && existsSync(`${path}/.`) ? realpathSync(path) : badSetting(name, 'a folder');
}
