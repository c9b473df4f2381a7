import { GridFSBucket, MongoClient } from 'mongodb';
import pg from 'pg';

import { env } from './settings.js';

export const client = new MongoClient(env.MONGODB_URL, {
  maxPoolSize: env.MONGODB_POOL_SIZE,
  serverSelectionTimeoutMS: 3000,
});
export const articles = client.db().collection('articles');
export const bucket = new GridFSBucket(client.db());

const { DATABASE_URL: connectionString, DATABASE_POOL_SIZE: max } = env;
export const pool = new pg.Pool({ connectionString, max });
pool.on('error', (error) => console.error(error.message)); // an idle connection broke

export const AGENTS = `
  SELECT f.number, s.extension, s.context, s.state_interface,
         'offline' AS status, '-1' AS extension_status, '0' AS paused
    FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
   ORDER BY f.number`;
