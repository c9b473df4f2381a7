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
cluster.once('listening', () => cluster.on('exit', replace)); // none could start if one did not
for (let number = 0; number < env.WORKERS; number++) cluster.fork();
