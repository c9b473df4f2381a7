import { setTimeout } from 'node:timers/promises';

import { serveStatic } from '@hono/node-server/serve-static';
import { zValidator } from '@hono/zod-validator';
import { Hono, type ValidationTargets } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { type GridFSFile, ObjectId } from 'mongodb';
import * as z from 'zod';

import { AGENTS, articles, bucket, notes, query } from './databases.ts';
import { problem } from './problems.ts';
import { env } from './settings.ts';

const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/).pipe(z.coerce.number<string>().min(min).max(max));
const codePoints = (min: number, max: number) =>
  z.string().regex(new RegExp(`^\\P{Cs}{${min},${max}}$`, 'u'));

const Mongo = z.object({ doc: z.enum(['small', 'big']).default('small') });
const Note = z.object({ title: codePoints(1, 200), text: codePoints(0, 10_000) });
const File = z.object({ name: z.string().regex(/^[^./\0][^/\0]*$/) }); // no hidden one, no path
const Sleep = z.object({ ms: integer(0, 30_000).default(1000) });
const SlowApi = z.object({ calls: integer(1, 50).default(10), ms: integer(0, 5000).default(1000) });
const Result = z.looseObject({});

const valid = <T extends keyof ValidationTargets, S extends z.ZodType>(target: T, schema: S) =>
  zValidator(target, schema, (result) => {
    if (!result.success) throw result.error;
  });

const limit = bodyLimit({
  maxSize: 2 ** 20,
  onError: () => {
    throw new HTTPException(413);
  },
});

export const app = new Hono();

app.get('/index', (c) => c.text('Hello, World!'));

app.get('/json', (c) => c.json({ message: 'Hello, World!' }));

app.get('/mongo', valid('query', Mongo), async (c) => {
  const article = await articles.findOne({ slug: c.req.valid('query').doc });
  return article ? c.json(article) : c.notFound();
});

app.post('/notes', limit, valid('json', Note), async (c) => {
  const note = { _id: new ObjectId(), ...c.req.valid('json') };
  await notes.insertOne(note);
  return c.json(note, 201, { Location: `/notes/${note._id}` });
});

app.get('/notes/:id', async (c) => {
  const id = c.req.param('id');
  const note = ObjectId.isValid(id) && (await notes.findOne({ _id: new ObjectId(id) }));
  return note ? c.json(note) : c.notFound();
});

app.get('/agents', async (c) => c.json(await query(AGENTS)));

app.get('/files/:name', valid('param', File), (c, next) =>
  serveStatic({ root: env.FILES_DIR, path: c.req.valid('param').name })(c, next),
);

app.get('/gridfs/:name', async (c) => {
  const newest = { sort: { uploadDate: -1 }, limit: 1 } as const;
  const [file] = await bucket.find({ filename: c.req.param('name') }, newest).toArray();
  if (!file) return c.notFound();
  const headers = {
    'Content-Type': file.metadata?.contentType ?? 'application/octet-stream',
    'Content-Length': String(file.length),
  };
  if (c.req.method === 'HEAD') return c.body(null, 200, headers);
  return c.body(ReadableStream.from(chunks(file)), 200, headers);
});

async function* chunks(file: GridFSFile) {
  let left = file.length;
  const content = bucket.openDownloadStream(file._id);
  content.on('close', () => content.abort()); // otherwise MongoDB's cursor stays if a client leaves
  for await (const chunk of content) {
    left -= chunk.length;
    yield chunk as Uint8Array<ArrayBuffer>;
  }
  if (left) throw new Error('the last chunks are missing');
}

app.get('/sleep', valid('query', Sleep), async (c) => {
  const { ms } = c.req.valid('query');
  await setTimeout(ms);
  return c.json({ slept_ms: ms });
});

app.get('/slow_api', valid('query', SlowApi), async (c) => {
  const { calls, ms } = c.req.valid('query');
  const id = c.req.header('X-Request-Id');
  const failed = new AbortController(); // after the first failure, the other calls are of no use
  const signals = [c.req.raw.signal, failed.signal, AbortSignal.timeout(ms + 5000)];
  const headers = new Headers(id ? { 'X-Request-Id': id } : {});
  const options = { headers, signal: AbortSignal.any(signals) };
  const call = (_: unknown, number: number) => callUpstream(number, ms, options);
  try {
    return c.json({ results: await Promise.all(Array.from({ length: calls }, call)) });
  } catch (cause) {
    const late = cause instanceof Error && cause.name === 'TimeoutError';
    throw new HTTPException(late ? 504 : 502, { cause });
  } finally {
    failed.abort();
  }
});

async function callUpstream(call: number, ms: number, options: RequestInit) {
  const url = new URL(env.SLOW_API_URL);
  url.search = new URLSearchParams({ call: String(call), ms: String(ms) }).toString();
  const response = await fetch(url, { redirect: 'error', ...options });
  if (response.status !== 200) throw new Error(`the upstream answered ${response.status}`);
  return Result.parse(await response.json());
}

app.notFound((c) => problem(new HTTPException(404), c));
app.onError(problem);
