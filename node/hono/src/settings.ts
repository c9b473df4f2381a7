import { existsSync, statSync } from 'node:fs';

import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import * as z from 'zod';

export const log = pino();

if (existsSync('.env')) process.loadEnvFile(); // what is set already wins

const count = z
  .string()
  .regex(/^[1-9]\d*$/)
  .transform(Number);

function isMongodbUrl(url: string) {
  try {
    return new MongoClient(url).options !== null;
  } catch {
    return false;
  }
}

const Settings = z.object({
  HOST: z.hostname().or(z.ipv6()).default('127.0.0.1'),
  PORT: count.pipe(z.number().max(65_535)).default(8000),
  MONGODB_URL: z
    .string()
    .refine(isMongodbUrl, 'is no URL of MongoDB')
    .default('mongodb://127.0.0.1:27017/refservers'),
  MONGODB_POOL_SIZE: count.default(100),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'is no URL of PostgreSQL' })
    .default('postgresql://refservers@127.0.0.1:5432/refservers'),
  DATABASE_POOL_SIZE: count.default(10),
  FILES_DIR: z
    .string()
    .refine((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory(), 'is no folder'),
  SLOW_API_URL: z.url({ protocol: /^https?$/ }),
});

const { data, error } = Settings.safeParse(process.env);
if (error) {
  console.error(z.prettifyError(error)); // without the values, which may hold a password
  process.exit(1);
}
export const env = data;
