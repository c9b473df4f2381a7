import { GridFSBucket, MongoClient } from 'mongodb';
import pg from 'pg';

import { env, log } from './settings.ts';

export const client = new MongoClient(env.MONGODB_URL, {
  maxPoolSize: env.MONGODB_POOL_SIZE,
  connectTimeoutMS: 3000,
  serverSelectionTimeoutMS: 3000,
  socketTimeoutMS: 3000, // and the driver tries once more
  waitQueueTimeoutMS: 3000,
});
export const articles = client.db().collection('articles');
export const notes = client.db().collection('notes');
export const bucket = new GridFSBucket(client.db());

export const pool = new pg.Pool({
  connectionString: env.DATABASE_URL,
  max: env.DATABASE_POOL_SIZE,
  connectionTimeoutMillis: 3000, // for a free connection, too
  query_timeout: 5000,
  statement_timeout: 5000,
});
pool.on('error', (error) => log.error('an idle connection broke: %s', error.message));

export const AGENTS = `
  SELECT f.number, s.extension, s.context, s.state_interface,
         'offline' AS status, '-1' AS extension_status, '0' AS paused
    FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
   ORDER BY f.number`;

const AWAY = /^(08|53300|57)/; // SQLSTATE: no connection, too many of them, an operator's doing

export class Away extends Error {}

export async function query(text: string) {
  try {
    return (await pool.query(text)).rows;
  } catch (error) {
    if (error instanceof pg.DatabaseError && !AWAY.test(error.code ?? '')) throw error;
    throw new Away(`PostgreSQL: ${error}`);
  }
}
