import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';

import express from 'express';
import createError from 'http-errors';
import { ObjectId } from 'mongodb';
import * as z from 'zod';

import { AGENTS, articles, bucket, notes, query } from './databases.js';
import { problem } from './problems.js';
import { env } from './settings.js';

const integer = (min, max) => z.string().regex(/^\d+$/).pipe(z.coerce.number().min(min).max(max));
const codePoints = (min, max) => z.string().regex(new RegExp(`^\\P{Cs}{${min},${max}}$`, 'u'));

const router = express.Router();

router.get('/index', (req, res) => res.type('text').send('Hello, World!'));

router.get('/json', (req, res) => res.json({ message: 'Hello, World!' }));

const Mongo = z.object({ doc: z.enum(['small', 'big']).default('small') });

router.get('/mongo', async (req, res) => {
  const article = await articles.findOne({ slug: Mongo.parse(req.query).doc });
  if (!article) throw createError(404);
  res.json(article);
});

const Note = z.object({ title: codePoints(1, 200), text: codePoints(0, 10_000) });

router.post('/notes', express.json({ limit: '1mb' }), async (req, res) => {
  const note = { _id: new ObjectId(), ...Note.parse(req.body) };
  await notes.insertOne(note);
  res.status(201).location(`/notes/${note._id}`).json(note);
});

router.get('/notes/:id', async (req, res) => {
  const { id } = req.params;
  const note = ObjectId.isValid(id) && (await notes.findOne({ _id: new ObjectId(id) }));
  if (!note) throw createError(404);
  res.json(note);
});

router.get('/agents', async (req, res) => res.json((await query(AGENTS)).rows));

router.use('/files', express.static(env.FILES_DIR));

router.get('/gridfs/:name', async (req, res) => {
  const newest = { sort: { uploadDate: -1 }, limit: 1 };
  const [file] = await bucket.find({ filename: req.params.name }, newest).toArray();
  if (!file) throw createError(404);
  res.type(file.metadata?.contentType ?? 'application/octet-stream');
  res.set('Content-Length', file.length);
  if (req.method === 'HEAD') return res.end();
  res.strictContentLength = true; // end() throws if the last chunks are missing
  const content = bucket.openDownloadStream(file._id);
  content.on('close', () => content.abort()); // otherwise MongoDB's cursor stays if a client leaves
  await pipeline(content, res, { end: false });
  res.end();
});

const Sleep = z.object({ ms: integer(0, 30_000).default(1000) });

router.get('/sleep', async (req, res) => {
  const { ms } = Sleep.parse(req.query);
  await setTimeout(ms);
  res.json({ slept_ms: ms });
});

const SlowApi = z.object({ calls: integer(1, 50).default(10), ms: integer(0, 5000).default(1000) });

router.get('/slow_api', async (req, res) => {
  const { calls, ms } = SlowApi.parse(req.query);
  const id = req.get('X-Request-Id');
  const headers = id ? { 'X-Request-Id': id } : {};
  const closed = new AbortController();
  res.on('close', () => closed.abort()); // the client has left, or knows of the first failure
  const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(ms + 5000)]);
  const call = (_, number) => callUpstream({ call: number, ms }, { headers, signal });
  try {
    res.json({ results: await Promise.all(Array.from({ length: calls }, call)) });
  } catch (error) {
    throw createError(error.name === 'TimeoutError' ? 504 : 502, error);
  }
});

const Result = z.looseObject({});

async function callUpstream(parameters, options) {
  const url = new URL(env.SLOW_API_URL);
  url.search = new URLSearchParams(parameters);
  const response = await fetch(url, { redirect: 'error', ...options });
  if (response.status !== 200) throw new Error(`the upstream answered ${response.status}`);
  return Result.parse(await response.json());
}

export const app = express().disable('x-powered-by');
app.use(router); // answers OPTIONS
app.use((req, res, next) => next(createError(404)), problem);
