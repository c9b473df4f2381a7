import { STATUS_CODES } from 'node:http';

import { MongoNetworkError, MongoServerSelectionError } from 'mongodb';

// Node.js' errors, and PostgreSQL's: too many connections, shut down, starting up
const AWAY = /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|53300|57P0[1-3])$/;

export function problem(error, req, res, next) {
  if (res.headersSent) return next(error);
  const mongodb = error instanceof MongoNetworkError || error instanceof MongoServerSelectionError;
  const status = mongodb || AWAY.test(error.code) ? 503 : (error.status ?? 500);
  if (status >= 500) console.error(error);
  const detail = status === 400 ? error.message : undefined;
  res.status(status).type('application/problem+json');
  res.json({ type: 'about:blank', title: STATUS_CODES[status], status, detail });
}
