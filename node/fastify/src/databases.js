import mongodb from '@fastify/mongodb';
import postgres from '@fastify/postgres';
import fp from 'fastify-plugin';
import pg from 'pg';

import { env } from './settings.js';

const AWAY = /^(08|53300|57)/; // SQLSTATE: no connection, too many of them, an operator's doing

export default fp(async (app) => {
  await app.register(mongodb, {
    url: env.MONGODB_URL,
    maxPoolSize: env.MONGODB_POOL_SIZE,
    connectTimeoutMS: 3000,
    serverSelectionTimeoutMS: 3000,
    socketTimeoutMS: 3000, // and the driver tries once more
    waitQueueTimeoutMS: 3000,
  });
  await app.register(postgres, {
    connectionString: env.DATABASE_URL,
    max: env.DATABASE_POOL_SIZE,
    connectionTimeoutMillis: 3000, // for a free connection, too
    query_timeout: 5000,
    statement_timeout: 5000,
  });
  app.pg.pool.on('error', (error) => app.log.error(`an idle connection broke: ${error.message}`));
  app.decorate('sql', (text) =>
    app.pg.query(text).catch((error) => {
      if (!(error instanceof pg.DatabaseError) || AWAY.test(error.code)) error.statusCode = 503;
      throw error;
    }),
  );
});
