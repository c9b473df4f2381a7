import { app } from './app.js';
import { client, pool } from './databases.js';
import { env, log } from './settings.js';

await client.connect(); // no operation connects again after a first attempt that failed

const server = app.listen(env.PORT, env.HOST, (error) => {
  if (error) throw error;
  log.info(server.address(), 'listening');
});
server.keepAliveTimeout = 65_000; // longer than the 60 s of most load balancers
server.on('close', () => Promise.all([client.close(), pool.end()]).finally(() => process.exit()));

function stop() {
  server.close();
  setInterval(() => server.closeIdleConnections(), 100); // whose last response has ended since
  setTimeout(() => process.exit(1), 10_000); // requests are cut
}

process.on('SIGINT', stop).on('SIGTERM', stop);
