import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';

import express from 'express';
import createError from 'http-errors';

import { AGENTS, articles, bucket, pool } from './databases.js';
import { problem } from './problems.js';
import { env } from './settings.js';

export const app = express();
app.disable('x-powered-by');

app.get('/index', (req, res) => res.type('text').send('Hello, World!'));

app.get('/json', (req, res) => res.json({ message: 'Hello, World!' }));

app.get('/mongo', async (req, res) => {
  const { doc = 'small' } = req.query;
  if (!['small', 'big'].includes(doc)) throw createError(400, 'doc must be small or big');
  const article = await articles.findOne({ slug: doc });
  if (!article) throw createError(404);
  res.json(article);
});

app.get('/agents', async (req, res) => {
  const { rows } = await pool.query(AGENTS);
  res.json(rows);
});

app.use('/files', express.static(env.FILES_DIR));

app.get('/gridfs/:name', async (req, res) => {
  const newest = { sort: { uploadDate: -1 }, limit: 1 };
  const [file] = await bucket.find({ filename: req.params.name }, newest).toArray();
  if (!file) throw createError(404);
  res.set({ 'Content-Type': file.metadata.contentType, 'Content-Length': file.length });
  await pipeline(bucket.openDownloadStream(file._id), res);
});

app.get('/sleep', async (req, res) => {
  const ms = integer(req, 'ms', { fallback: 1000, min: 0, max: 30000 });
  await setTimeout(ms + 1); // a timer can fire up to 1 ms early
  res.json({ slept_ms: ms });
});

app.get('/slow_api', async (req, res) => {
  const calls = integer(req, 'calls', { fallback: 10, min: 1, max: 50 });
  const ms = integer(req, 'ms', { fallback: 1000, min: 0, max: 5000 });
  const id = req.get('X-Request-Id');
  const headers = id ? { 'X-Request-Id': id } : {};
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, AbortSignal.timeout(ms + 5000)]);
  const call = (_, number) => callUpstream(`?call=${number}&ms=${ms}`, { headers, signal });
  try {
    res.json({ results: await Promise.all(Array.from({ length: calls }, call)) });
  } catch (cause) {
    failed.abort();
    throw createError(cause.name === 'TimeoutError' ? 504 : 502, { cause });
  }
});

app.use((req, res, next) => next(createError(404)));
app.use(problem);

function integer(req, name, { fallback, min, max }) {
  const text = req.query[name] ?? fallback;
  if (/^\d+$/.test(text) && text >= min && text <= max) return Number(text);
  throw createError(400, `${name} must be an integer from ${min} to ${max}`);
}

async function callUpstream(query, options) {
  const response = await fetch(env.SLOW_API_URL + query, { redirect: 'error', ...options });
  if (response.status !== 200) throw new Error(`The upstream answered ${response.status}`);
  const result = await response.json();
  if (typeof result === 'object' && result && !Array.isArray(result)) return result;
  throw new Error('The upstream answered no JSON object');
}
