import { STATUS_CODES } from 'node:http';

const AWAY = /^Mongo(Network|ServerSelection|WaitQueue|ServerError (91|1160[02])$)|PoolCleared/;

export function problem(error, request, reply) {
  const kind = `${error.name} ${error.code}`;
  const status = error.statusCode ?? (AWAY.test(kind) ? 503 : 500);
  if (status >= 500) request.log.error({ err: error, url: request.url });
  const detail = status === 400 ? error.message : undefined;
  reply.code(status).type('application/problem+json');
  reply.send({ type: 'about:blank', title: STATUS_CODES[status], status, detail });
}
