import { resolve } from 'node:path';

import fastifyStatic from '@fastify/static';
import Fastify, { LogController } from 'fastify';

import databases from './databases.js';
import { problem } from './problems.js';
import routes from './routes.js';
import { env } from './settings.js';

class Faults extends LogController {
  incomingRequest() {}
  requestCompleted() {}
}

export function build(logger) {
  const timeouts = { connectionTimeout: 60_000, requestTimeout: 60_000 };
  const router = { routerOptions: { maxParamLength: 255 }, frameworkErrors: problem };
  const logging = { logger, logController: new Faults() };
  const app = Fastify({ ...timeouts, ...router, ...logging, return503OnClosing: false });
  app.setErrorHandler(problem);
  app.setNotFoundHandler((request, reply) => problem({ statusCode: 404 }, request, reply));
  app.register(databases);
  app.register(fastifyStatic, { root: resolve(env.FILES_DIR), dotfiles: 'ignore', serve: false });
  app.register(routes);
  return app;
}
