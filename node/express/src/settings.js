import { readdirSync } from 'node:fs';

import { cleanEnv, host, makeValidator, num, port, url } from 'envalid';
import { MongoClient } from 'mongodb';

// Each throws what envalid reports. Its url() takes a single host, and reports passwords.
const folder = makeValidator((value) => readdirSync(value) && value);
const mongodbUrl = makeValidator((value) => new MongoClient(value) && value);
const postgresqlUrl = makeValidator((value) => new URL(value) && value);

export const env = cleanEnv(process.env, {
  HOST: host({ default: '127.0.0.1' }),
  PORT: port({ default: 8000 }),
  WORKERS: num({ default: 1 }),
  MONGODB_URL: mongodbUrl({ default: 'mongodb://127.0.0.1:27017/refservers' }),
  MONGODB_POOL_SIZE: num({ default: 100 }),
  DATABASE_URL: postgresqlUrl({ default: 'postgresql://refservers@127.0.0.1:5432/refservers' }),
  DATABASE_POOL_SIZE: num({ default: 10 }),
  FILES_DIR: folder(),
  SLOW_API_URL: url(),
});
