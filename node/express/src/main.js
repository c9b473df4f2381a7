import { app } from './app.js';
import { client, pool } from './databases.js';
import { env } from './settings.js';

await client.connect(); // the driver never recovers from a first attempt that fails

const server = app.listen(env.PORT, env.HOST);
server.on('close', () => Promise.all([client.close(), pool.end()]).finally(() => process.exit()));

function stop() {
  server.close();
  setTimeout(() => process.exit(), 10_000);
}

process.on('SIGINT', stop).on('SIGTERM', stop);
