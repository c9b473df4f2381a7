import { app } from './app.js';
import { client, pool } from './databases.js';
import { env } from './settings.js';

await client.connect(); // a client that first fails to connect never tries again by itself

const server = app.listen(env.PORT, env.HOST);
server.on('close', () => Promise.all([client.close(), pool.end()]).finally(() => process.exit()));

function stop() {
  server.close();
  setTimeout(() => process.exit(), 10_000);
}

process.on('SIGINT', stop).on('SIGTERM', stop);
