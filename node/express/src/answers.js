import { STATUS_CODES } from 'node:http';

import createError from 'http-errors';

/** @import { ErrorRequestHandler, RequestHandler, Response } from 'express' */

/**
 * Answer with exactly this type: `res.send` and `res.json` add a charset, an ETag, and a 304 to
 * `If-None-Match: *`.
 * @param {Response} res
 * @param {string} type
 * @param {string} body
 */
export function send(res, type, body) {
  const headers = { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) };
  res.writeHead(res.statusCode, headers).end(body);
}

/**
 * @param {Response} res
 * @param {unknown} data
 */
export function json(res, data) {
  send(res, 'application/json', JSON.stringify(data));
}

/** @type {RequestHandler} */
export const notFound = () => {
  throw createError(404);
};

/** @type {RequestHandler} */
export const methodNotAllowed = () => {
  throw createError(405, { headers: { Allow: 'GET, HEAD' } });
};

/**
 * Answer errors with problem details (RFC 9457).
 * @type {ErrorRequestHandler}
 */
export const problem = (error, req, res, next) => {
  if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return; // the client has gone
  if (res.headersSent) return next(error); // Express cuts the connection
  const status = error instanceof URIError ? 404 : (error.status ?? 500);
  if (status >= 500) {
    console.error(`${req.method} ${req.path}:`, status === 500 ? error : String(error.cause));
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  const detail = status === 400 ? error.message : undefined;
  const body = { type: 'about:blank', title: STATUS_CODES[status], status, detail };
  res.status(status).set(error.headers ?? {});
  send(res, 'application/problem+json', JSON.stringify(body));
};
