import { type Server } from 'node:http';

import { serve } from '@hono/node-server';

import { app } from './app.ts';
import { client, pool } from './databases.ts';
import { env, log } from './settings.ts';

await client.connect(); // no operation connects again after a first attempt that failed

const server = serve({ fetch: app.fetch, hostname: env.HOST, port: env.PORT }, (address) => {
  log.info(address, 'listening');
}) as Server;
server.keepAliveTimeout = 65_000; // longer than the 60 s of most load balancers
server.on('close', () => Promise.all([client.close(), pool.end()]).finally(() => process.exit()));

function stop() {
  server.close();
  setInterval(() => server.closeIdleConnections(), 100); // whose last response has ended since
  setTimeout(() => process.exit(1), 10_000); // requests are cut
}

process.on('SIGINT', stop).on('SIGTERM', stop);
