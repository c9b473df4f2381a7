import { realpath } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

import createError from 'http-errors';

import { available, gridfs, mongodb } from './databases.js';
import { settings } from './settings.js';

/** @import { RequestHandler, RequestParamHandler } from 'express' */
/** @import { Binary, GridFSFile, ObjectId } from 'mongodb' */

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
export function fileName(req, res, next, name) {
  next(/^\.|[/\\\0]/.test(name) ? createError(404) : undefined);
}

/** @type {RequestHandler<{ name: string }>} */
export async function file(req, res) {
  const { name } = req.params;
  const path = await realpath(join(settings.filesDir, name)).catch(() => '');
  if (!path.startsWith(settings.filesDir + sep)) throw createError(404);
  // `send` merges several ranges and takes "0-9x" for one; its weak ETag cannot be in an If-Range
  const isOneRange = /^bytes=([0-9]+-[0-9]*|-[0-9]+)$/.test(req.get('Range') ?? '');
  if (!isOneRange || req.get('If-Range')) delete req.headers.range;
  res.once('pipe', (body) => {
    body.prependOnceListener('end', () => {
      if (body.bytesRead !== res.getHeader('Content-Length')) res.destroy(); // truncated meanwhile
    });
  });
  const type = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream';
  res.sendFile(name, { root: settings.filesDir, headers: { 'Content-Type': type } });
}

/** @type {RequestHandler<{ name: string }>} */
export async function gridfsFile(req, res) {
  const newest = gridfs.find({ filename: req.params.name }, { sort: { uploadDate: -1 }, limit: 1 });
  const stored = await available(newest.next());
  if (!stored) throw createError(404);
  res.set('ETag', `"${stored._id}"`);
  ...
}
