import { STATUS_CODES } from 'node:http';

import { log } from './settings.js';

const AWAY = /^Mongo(Network|ServerSelection|WaitQueue|ServerError (91|1160[02])$)|PoolCleared/;
const LEFT = /^AbortError|ERR_STREAM_PREMATURE_CLOSE$/;

export function problem(error, req, res, next) {
  const kind = `${error.name} ${error.code}`;
  if (LEFT.test(kind)) return; // the client has
  if (res.headersSent) return next(error); // Express logs it, and ends the connection
  const status = error.status ?? (error.name === 'ZodError' ? 400 : AWAY.test(kind) ? 503 : 500);
  if (status >= 500) log.error({ err: error, url: req.originalUrl });
  const why = status === 400 && { detail: error.expose && error.message, errors: error.issues };
  res.status(status).type('application/problem+json');
  res.json({ type: 'about:blank', title: STATUS_CODES[status], status, ...why });
}
