import { existsSync } from 'node:fs';

import envSchema from 'env-schema';
import { MongoClient } from 'mongodb';

const formats = {
  folder: (value) => existsSync(`${value}/`), // not for a file
  mongodb(value) {
    try {
      return Boolean(new MongoClient(value));
    } catch {
      return false;
    }
  },
  url: URL.canParse,
};

const count = (value) => ({ type: 'integer', minimum: 1, default: value });
const text = (format, value) => ({ type: 'string', minLength: 1, format, default: value });

export const env = envSchema({
  dotenv: true, // what is set already wins
  ajv: { customOptions: { formats } },
  schema: {
    type: 'object',
    required: ['FILES_DIR', 'SLOW_API_URL'],
    properties: {
      HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
      PORT: { type: 'integer', minimum: 1, maximum: 65535, default: 8000 },
      WORKERS: count(1),
      MONGODB_URL: text('mongodb', 'mongodb://127.0.0.1:27017/refservers'),
      MONGODB_POOL_SIZE: count(100),
      DATABASE_URL: text('url', 'postgresql://refservers@127.0.0.1:5432/refservers'),
      DATABASE_POOL_SIZE: count(10),
      FILES_DIR: { type: 'string', format: 'folder' },
      SLOW_API_URL: { type: 'string', format: 'url' },
    },
  },
});
