import { STATUS_CODES } from 'node:http';

import type { Context, Env } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { MongoError } from 'mongodb';
import { ZodError } from 'zod';

import { Away } from './databases.ts';
import { log } from './settings.ts';

const AWAY = /^Mongo(Network|ServerSelection|WaitQueue|ServerError (91|1160[02])$)|PoolCleared/;

function statusOf(error: Error): ContentfulStatusCode {
  if (error instanceof HTTPException) return error.status;
  if (error instanceof ZodError) return 400;
  if (error instanceof Away) return 503;
  return error instanceof MongoError && AWAY.test(`${error.name} ${error.code}`) ? 503 : 500;
}

/** Answers with problem details (RFC 9457), and logs the cause of each 5xx. */
export function problem(error: Error, c: Context<Env>) {
  const status = statusOf(error);
  const left = c.req.raw.signal.aborted; // the client has
  if (status >= 500 && !left) log.error({ err: error.cause ?? error, url: c.req.path });
  const errors = error instanceof ZodError ? error.issues : undefined;
  const body = { type: 'about:blank', title: STATUS_CODES[status], status, errors };
  return c.body(JSON.stringify(body), status, { 'Content-Type': 'application/problem+json' });
}
