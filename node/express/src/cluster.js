import cluster from 'node:cluster';

import { env } from './settings.js';

function replace(worker, code, signal) {
  console.error(`worker ${worker.process.pid} died (${signal ?? code})`);
  cluster.fork();
}

function stop() {
  cluster.removeAllListeners();
  for (const worker of Object.values(cluster.workers)) worker.kill();
}

process.on('SIGINT', stop).on('SIGTERM', stop);
cluster.setupPrimary({ exec: `${import.meta.dirname}/main.js` });
cluster.on('exit', () => process.exit(1)); // until one has started
cluster.once('listening', () => cluster.removeAllListeners('exit').on('exit', replace));
for (let number = 0; number < env.WORKERS; number++) cluster.fork();
