import cluster from 'node:cluster';

import { pino } from 'pino';

import { env } from './settings.js';

const log = pino();
let started, stopping;

function stop() {
  if (stopping) return; // npm passes a terminal's Ctrl-C on, so that it comes twice
  stopping = true;
  for (const worker of Object.values(cluster.workers)) worker.process.kill();
}

cluster.setupPrimary({ exec: `${import.meta.dirname}/main.js` });
cluster.on('listening', () => (started = true));
cluster.on('exit', (worker, code, signal) => {
  if (stopping) return (process.exitCode ||= code);
  if (!started) process.exit(1); // its own output says why
  log.error(`worker ${worker.process.pid} died (${signal ?? code})`);
  setTimeout(() => stopping || cluster.fork(), 1000);
});
process.on('SIGINT', stop).on('SIGTERM', stop);
for (let number = 0; number < env.WORKERS; number++) cluster.fork();
