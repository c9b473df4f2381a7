import createError from 'http-errors';
import { GridFSBucket, MongoClient } from 'mongodb';
import pg from 'pg';

import { badSetting, settings } from './settings.js';

const TIMEOUT = 2500; // ms for an operation with all that it waits for

const client = connect();
export const mongodb = client.db();
export const gridfs = new GridFSBucket(mongodb);

const postgresql = new pg.Pool({
  connectionString: settings.databaseUrl,
  max: settings.databasePoolSize,
  connectionTimeoutMillis: TIMEOUT,
  idleTimeoutMillis: TIMEOUT, // those that died in silence must not meet many requests
  pipeline: true,
});
// https://node-postgres.com/apis/pool#error: an idle connection was lost
postgresql.on('error', (error) => console.error(`PostgreSQL: ${error.message}`));
postgresql.on('connect', (connection) => connection.on('error', () => {})); // its queries fail

/** @typedef {{ connection: Promise<pg.PoolClient>, queries: number, error?: Error }} Lease */

const SHARED_BY = 16; // queries

/** @type {Lease | undefined} */
let newest;

/**
 * The rows of a query, or 503. Queries that are made at the same time share connections, which
 * `pool.query` does not do: https://node-postgres.com/features/pipelining
 * @param {pg.QueryConfig} query
 */
export async function rows(query) {
  if (!newest || newest.queries === SHARED_BY) {
    newest = { connection: postgresql.connect(), queries: 0 };
  }
  const lease = newest;
  lease.queries++;
  try {
    return await available(ask(lease.connection, query));
  } catch (error) {
    lease.error = /** @type {Error} */ (error);
    throw error;
  } finally {
    lease.queries--;
    if (lease === newest && (lease.error || lease.queries === 0)) newest = undefined;
    if (lease.queries === 0) {
      lease.connection.then((connection) => connection.release(lease.error)).catch(() => {});
    }
  }
}

/**
 * @param {Promise<pg.PoolClient>} connecting
 * @param {pg.QueryConfig} query
 * @returns {Promise<unknown[]>}
 */
async function ask(connecting, query) {
  const connection = await connecting;
  return new Promise((resolve, reject) => {
    // by callback: rows that come by pg's own promise are promoted to V8's old generation
    connection.query(query, (error, result) => (error ? reject(error) : resolve(result.rows)));
  });
}

export const AGENTS = {
  name: 'agents', // prepared once a connection
  text: `SELECT f.number, s.extension, s.context, s.state_interface,
                'offline' AS status, '-1' AS extension_status, '0' AS paused
           FROM agentfeatures f
           LEFT JOIN agent_login_status s ON s.agent_id = f.id
          ORDER BY f.number`,
};

function connect() {
  try {
    // https://www.mongodb.com/docs/drivers/node/current/connect/connection-options/csot/
    return new MongoClient(settings.mongodbUrl, {
      maxPoolSize: settings.mongodbPoolSize,
      serverSelectionTimeoutMS: TIMEOUT,
      waitQueueTimeoutMS: TIMEOUT,
      socketTimeoutMS: TIMEOUT,
      connectTimeoutMS: 1000,
      heartbeatFrequencyMS: 1000,
    });
  } catch {
    return badSetting('MONGODB_URL', 'a MongoDB URL');
  }
}

// no connection, no resources, shutdown: https://www.postgresql.org/docs/current/errcodes-appendix.html
const AWAY = /^(08|53|57)/;

/**
 * What a database answers, or 503.
 * @template T
 * @param {Promise<T>} operation
 * @returns {Promise<T>}
 */
export async function available(operation) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${TIMEOUT} ms`)), TIMEOUT);
  });
  try {
    return await Promise.race([operation, /** @type {Promise<never>} */ (late)]);
  } catch (cause) {
    if (cause instanceof pg.DatabaseError && !AWAY.test(cause.code ?? '')) throw cause;
    throw createError(503, { cause, headers: { 'Retry-After': '1' } });
  } finally {
    clearTimeout(timer);
  }
}

/** Give every connection back. */
export async function disconnect() {
  await Promise.all([client.close(), postgresql.end()]);
}
