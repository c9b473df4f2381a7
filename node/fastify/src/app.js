import { resolve } from 'node:path';

import fastifyStatic from '@fastify/static';
import Fastify, { LogController } from 'fastify';

import databases from './databases.js';
import { problem } from './problems.js';
import routes from './routes.js';
import { env } from './settings.js';

/** Faults are logged, requests are not. */
class Faults extends LogController {
  incomingRequest() {}
  requestCompleted() {}
}

export function build(logger) {
  const app = Fastify({
    logger,
    logController: new Faults(),
    connectionTimeout: 60_000,
    requestTimeout: 60_000,
    frameworkErrors: problem,
  });
  app.setErrorHandler(problem);
  app.setNotFoundHandler((request, reply) => problem({ statusCode: 404 }, request, reply));
  app.register(databases);
  app.register(fastifyStatic, {
    root: resolve(env.FILES_DIR),
    dotfiles: 'ignore',
    serve: false, // its own route finds no %2B, and sendFile() does
  });
  app.register(routes);
  return app;
}
