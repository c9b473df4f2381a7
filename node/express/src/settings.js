import { existsSync, readdirSync } from 'node:fs';

import { cleanEnv, host, makeValidator, port } from 'envalid';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';

export const log = pino();

if (existsSync('.env')) process.loadEnvFile(); // what is set already wins

const count = makeValidator((value) => {
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new Error('must be an integer from 1');
});
const folder = makeValidator((value) => readdirSync(value) && value); // refuses a file
const mongodbUrl = makeValidator((value) => new MongoClient(value).options && value);
const url = makeValidator((value) => new URL(value).href); // its error repeats no password
const httpUrl = makeValidator((value) => {
  if (/^https?:$/.test(new URL(value).protocol)) return value;
  throw new Error('must be an HTTP URL');
});

export const env = cleanEnv(process.env, {
  HOST: host({ default: '127.0.0.1' }),
  PORT: port({ default: 8000 }),
  WORKERS: count({ default: 1 }),
  MONGODB_URL: mongodbUrl({ default: 'mongodb://127.0.0.1:27017/refservers' }),
  MONGODB_POOL_SIZE: count({ default: 100 }),
  DATABASE_URL: url({ default: 'postgresql://refservers@127.0.0.1:5432/refservers' }),
  DATABASE_POOL_SIZE: count({ default: 10 }),
  FILES_DIR: folder(),
  SLOW_API_URL: httpUrl(),
});
