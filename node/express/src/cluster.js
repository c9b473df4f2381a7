import cluster from 'node:cluster';
import { join } from 'node:path';

import { settings } from './settings.js';

let stopping = false;

cluster.setupPrimary({ exec: join(import.meta.dirname, 'server.js') });
for (let number = 0; number < settings.workers; number++) cluster.fork();

cluster.on('exit', (worker, code) => {
  if (code === 2) process.exit(2); // a bad setting: the worker said which
  if (!stopping) cluster.fork();
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  });
}
