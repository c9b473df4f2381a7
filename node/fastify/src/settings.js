import { existsSync } from 'node:fs';

import envSchema from 'env-schema';
import { MongoClient } from 'mongodb';

const count = (value) => ({ type: 'integer', minimum: 1, default: value });
const string = (format, value) => ({ type: 'string', minLength: 1, format, default: value });
function isMongodbUrl(value) {
  try {
    return new MongoClient(value).options !== null;
  } catch {
    return false;
  }
}

const formats = {
  folder: (value) => existsSync(`${value}/`), // no file
  mongodb: isMongodbUrl,
  http: (value) => URL.canParse(value) && /^https?:/.test(value),
  url: URL.canParse,
};
const properties = {
  HOST: string(undefined, '127.0.0.1'),
  PORT: { ...count(8000), maximum: 65535 },
  WORKERS: count(1),
  MONGODB_URL: string('mongodb', 'mongodb://127.0.0.1:27017/refservers'),
  MONGODB_POOL_SIZE: count(100),
  DATABASE_URL: string('url', 'postgresql://refservers@127.0.0.1:5432/refservers'),
  DATABASE_POOL_SIZE: count(10),
  FILES_DIR: string('folder'),
  SLOW_API_URL: string('http'),
};
const schema = { type: 'object', properties, required: Object.keys(properties) };

export const env = envSchema({ schema, dotenv: true, ajv: { customOptions: { formats } } });
