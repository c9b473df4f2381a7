import cluster from 'node:cluster';

import closeWithGrace from 'close-with-grace';

import { build } from './app.js';
import { env } from './settings.js';

const app = build(true);

// Ctrl-C in a terminal reaches a worker, too, which waits for the SIGTERM of its primary process.
const skip = cluster.isWorker ? ['SIGINT'] : [];
if (cluster.isWorker) process.on('SIGINT', () => {});

closeWithGrace({ delay: 10_000, logger: app.log, skip }, async ({ err }) => {
  if (err) app.log.error(err);
  setInterval(() => app.server.closeIdleConnections(), 100); // whose last response has ended since
  await app.close();
});

await app.listen({ host: env.HOST, port: env.PORT });
