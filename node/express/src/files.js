import { realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

import createError from 'http-errors';

import { available, gridfs, mongodb } from './databases.js';
import { settings } from './settings.js';

/** @import { Request, RequestHandler, RequestParamHandler, Response } from 'express' */
/** @import { GridFSFile } from 'mongodb' */

/** @type {Record<string, string>} */
const CONTENT_TYPES = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Let through the names that a file may have.
 * @type {RequestParamHandler}
 */
export const fileName = (req, res, next, name) => {
  next(/^\.|[/\\\0]/.test(name) ? createError(404) : undefined);
};

/** @type {RequestHandler<{ name: string }>} */
export const file = async (req, res) => {
  const { name } = req.params;
  const path = await realpath(join(settings.filesDir, name)).catch(() => '');
  if (!path.startsWith(settings.filesDir + sep)) throw createError(404);
  if (req.headers.range) req.headers.range = await oneRange(req, path);
  res.once('pipe', (stream) => watch(stream, res));
  const type = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream';
  res.sendFile(name, { root: settings.filesDir, headers: { 'Content-Type': type } });
};

/**
 * A Range that `send` reads as RFC 9110 does, if there is one: it merges several, takes "0-9x" for
 * one, and refuses a suffix longer than the file. Its ETag is weak, which an If-Range cannot match.
 * @param {Request<{ name: string }>} req
 * @param {string} path
 */
async function oneRange(req, path) {
  const range = /^bytes=(?:[0-9]+-[0-9]*|-([0-9]+))$/.exec(req.get('Range') ?? '');
  if (!range || req.get('If-Range')) return undefined;
  if (!range[1]) return range[0];
  return `bytes=-${Math.min(Number(range[1]), (await stat(path)).size)}`;
}

/**
 * Cut the connection if the file is truncated while it is sent.
 * @param {any} stream
 * @param {Response} res
 */
function watch(stream, res) {
  stream.on('data', (/** @type {Buffer} */ data) => spend(data.length));
  stream.prependOnceListener('end', () => {
    if (stream.bytesRead < Number(res.getHeader('Content-Length'))) res.destroy();
  });
}

let spent = 0;

/**
 * Have spent buffers collected every 4 MB: V8 alone lets 32 MB of them gather.
 * @param {number} bytes
 */
function spend(bytes) {
  spent += bytes;
  if (spent < 2 ** 22) return;
  spent = 0;
  globalThis.gc?.({ type: 'minor' });
}

/** @type {RequestHandler<{ name: string }>} */
export const gridfsFile = async (req, res) => {
  const newest = gridfs.find({ filename: req.params.name }, { sort: { uploadDate: -1 }, limit: 1 });
  const stored = await available(newest.next());
  if (!stored) throw createError(404);
  res.setHeader('ETag', `"${stored._id}"`);
  if (req.fresh) return void res.status(304).end();
  res.setHeader('Content-Type', stored.metadata?.contentType ?? 'application/octet-stream');
  res.setHeader('Content-Length', stored.length);
  if (req.method === 'HEAD') return void res.end();
  await pipeline(read(stored), res);
};

/** @param {GridFSFile} stored */
async function* read({ _id, length }) {
  // the bucket's own stream fetches 16 MB at a time
  const chunks = mongodb
    .collection('fs.chunks')
    .find({ files_id: _id }, { sort: { n: 1 }, batchSize: 1 });
  let sent = 0;
  for await (const { data } of chunks) {
    yield data.buffer;
    sent += data.length();
    spend(data.length());
  }
  if (sent !== length) throw new Error(`GridFS: ${_id} has ${sent} bytes of ${length}`);
}
