import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { bucket, client, notes } from '../src/databases.ts';
import { env } from '../src/settings.ts';

const silent = createServer(() => {}); // accepts, and never answers
const { port: SILENT } = await listening(silent);
const REFUSING = await freePort();
after(() => client.close());
after(() => silent.close());

async function listening(server: Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address() as AddressInfo;
}

async function freePort() {
  const server = createServer();
  const { port } = await listening(server);
  server.close();
  return port;
}

type Settings = Record<string, string | number | undefined>;
type Started = { child: ChildProcess; output: string; exited: Promise<number | null>; url: string };
type Entry = { level: number; msg: string; url: string; err: Error };

/** Start a program as a user does; `output` grows, `exited` is its status. */
function start(t: TestContext, settings: Settings, cwd = '.'): Started {
  const env = { ...process.env, ...settings } as NodeJS.ProcessEnv;
  const child = spawn(process.execPath, [resolve('src/main.ts')], { env, cwd });
  const exited = once(child, 'exit').then(([code]) => code);
  const started: Started = { child, output: '', exited, url: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => (started.output += data));
  }
  t.after(() => child.kill('SIGKILL'));
  return started;
}

/** Start a server, and wait until it serves. */
async function serve(t: TestContext, settings: Settings = {}) {
  const port = await freePort();
  const server = start(t, { PORT: port, ...settings });
  server.url = `http://127.0.0.1:${port}`;
  await until(() => server.output.includes('"listening"'), server);
  return server;
}

async function until(condition: () => unknown, server: Started) {
  for (let wait = 0; !(await condition()); wait++) {
    assert.ok(wait < 600, server.output);
    await setTimeout(50);
  }
}

function parsed({ output }: Started): Entry[] {
  const lines = output.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

function entries(server: Started) {
  return parsed(server).filter(({ level }) => level >= 50);
}

/** Pass connections on to MongoDB until it stops; `url` is its own. */
async function relay() {
  const { host, port } = client.options.hosts[0];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const target = connect(port as number, host);
    socket.pipe(target).pipe(socket);
    for (const end of [socket, target]) sockets.add(end.on('error', () => {}));
  });
  const url = new URL(env.MONGODB_URL);
  url.host = `127.0.0.1:${(await listening(server)).port}`;
  const stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { stop, url: url.href };
}

/** Store a file in GridFS until the test ends, and return its name. */
async function store(t: TestContext, bytes: string | Buffer, options = {}, missing = -1) {
  const stored = bucket.openUploadStream(`test-${missing}`, options).end(bytes);
  await once(stored, 'finish');
  t.after(() => bucket.delete(stored.id));
  await client.db().collection('fs.chunks').deleteOne({ files_id: stored.id, n: missing });
  return stored.filename;
}

describe('a process', { concurrency: 4 }, () => {
  let common: Started;
  before(async () => {
    common = await serve({ after: () => {} } as unknown as TestContext);
  });
  after(() => common.child.kill());

  test('lets a request in flight finish at SIGTERM', async (t) => {
    const server = await serve(t);
    const inFlight = fetch(`${server.url}/sleep?ms=1000`);
    await fetch(`${server.url}/index`); // leaves an idle connection
    server.child.kill('SIGTERM');
    assert.equal((await inFlight).status, 200);
    assert.equal(await server.exited, 0);
    assert.deepEqual(entries(server), []);
  });

  test('ends with all bad settings named, and no password', async (t) => {
    const bad = {
      HOST: '',
      PORT: '70000',
      MONGODB_URL: 'mongodb://me:secret@host:99999/',
      MONGODB_POOL_SIZE: '12abc',
      DATABASE_URL: 'mysql://me:secret@host/',
      DATABASE_POOL_SIZE: '3.5',
      FILES_DIR: 'package.json',
      SLOW_API_URL: 'nonsense',
    };
    const server = start(t, bad);
    assert.notEqual(await server.exited, 0);
    for (const name of Object.keys(bad)) assert.match(server.output, new RegExp(name));
    assert.doesNotMatch(server.output, /secret/);
  });

  test('reads .env, whole URLs included, where the environment has nothing', async (t) => {
    const folder = await mkdtemp(`${tmpdir()}/test-`);
    t.after(() => rm(folder, { recursive: true }));
    const url = 'mongodb://127.0.0.1/test?authSource=admin&tls=perhaps';
    await writeFile(`${folder}/.env`, `PORT=70000\nDATABASE_POOL_SIZE=0\nMONGODB_URL=${url}\n`);
    const settings = { PORT: undefined, DATABASE_POOL_SIZE: '1', MONGODB_URL: undefined };
    const server = start(t, settings, folder);
    assert.notEqual(await server.exited, 0);
    assert.match(server.output, /PORT/);
    assert.match(server.output, /MONGODB_URL/);
    assert.doesNotMatch(server.output, /DATABASE_POOL_SIZE/);
  });

  test('ends if its port is in use', async (t) => {
    const server = start(t, { PORT: SILENT });
    assert.equal(await server.exited, 1);
    assert.match(server.output, /EADDRINUSE/);
  });

  for (const [what, port, cause] of [
    ['refuses', REFUSING, /ECONNREFUSED/],
    ['stays silent', SILENT, /timeout/],
  ] as const) {
    test(`answers 503 while PostgreSQL ${what}, and logs why once`, async (t) => {
      const DATABASE_URL = `postgresql://me:secret@127.0.0.1:${port}/x`;
      const server = await serve(t, { DATABASE_URL });
      const signal = AbortSignal.timeout(15_000);
      const { status } = await fetch(`${server.url}/agents`, { signal });
      assert.equal(status, 503);
      await until(() => entries(server).length, server);
      const [{ err, url }, ...others] = entries(server);
      assert.match(err.message, cause);
      assert.equal(url, '/agents');
      assert.deepEqual(others, []);
      assert.doesNotMatch(server.output, /secret/);
    });
  }

  test('answers 503 while MongoDB is away, and logs why once', async (t) => {
    const { stop, url } = await relay();
    const server = await serve(t, { MONGODB_URL: url });
    assert.equal((await fetch(`${server.url}/mongo`)).status, 200);
    stop();
    const note = { title: 'away', text: '' };
    const body = { body: JSON.stringify(note), headers: { 'Content-Type': 'application/json' } };
    for (const [path, options] of [
      ['/mongo', {}],
      ['/notes', { method: 'POST', ...body }],
    ] as const) {
      assert.equal((await fetch(server.url + path, options)).status, 503);
      await until(() => entries(server).some(({ url }) => url === path), server);
    }
    assert.equal(entries(server).length, 2);
    assert.equal(await notes.countDocuments(note), 0);
  });

  for (const [what, port, status, cause] of [
    ['refuses', REFUSING, 502, /ECONNREFUSED/],
    ['is late', SILENT, 504, /timeout/],
  ] as const) {
    test(`answers ${status} if the upstream ${what}, and logs why once`, async (t) => {
      const server = await serve(t, { SLOW_API_URL: `http://127.0.0.1:${port}/` });
      assert.equal((await fetch(`${server.url}/slow_api?ms=0`)).status, status);
      await until(() => entries(server).length, server);
      const [{ err }, ...others] = entries(server);
      assert.match(err.message, cause);
      assert.deepEqual(others, []);
    });
  }

  test('ends the calls to the upstream of a client that leaves, and logs nothing', async (t) => {
    let calls = 0;
    const upstream = createServer((socket) => {
      calls++;
      socket.resume().on('error', () => {});
      socket.on('close', () => calls--);
    });
    const { port } = await listening(upstream);
    t.after(() => upstream.close());
    const server = await serve(t, { SLOW_API_URL: `http://127.0.0.1:${port}/` });
    const client = get(`${server.url}/slow_api?calls=3`).on('error', () => {});
    await until(() => calls === 3, server);
    client.destroy();
    await until(() => calls === 0, server);
    assert.deepEqual(entries(server), []);
  });

  for (const [chunk, status] of [
    [0, 200],
    [1, 200],
    [3, 200],
  ]) {
    test(`ends the response of a file that lacks chunk ${chunk} before its length`, async (t) => {
      const name = await store(t, Buffer.alloc(4000), { chunkSizeBytes: 1000 }, chunk);
      const signal = AbortSignal.timeout(10_000);
      const response = await fetch(`${common.url}/gridfs/${name}`, { signal });
      assert.equal(response.status, status);
      await assert.rejects(response.arrayBuffer(), { message: 'terminated' });
    });
  }

  test('serves a file without metadata', async (t) => {
    const name = await store(t, 'bytes');
    const response = await fetch(`${common.url}/gridfs/${name}`);
    assert.equal(response.headers.get('Content-Type'), 'application/octet-stream');
    assert.equal(await response.text(), 'bytes');
  });

  test('refuses paths that leave the folder', async () => {
    const { url } = common;
    for (const path of [
      '/files/../app.js',
      '/files/..%2f..%2fpackage.json',
      '/files//etc/passwd',
    ]) {
      const [response]: IncomingMessage[] = await once(get(url, { path }), 'response');
      assert.ok([400, 404].includes(response.resume().statusCode ?? 0), path);
    }
  });

  test('stores a note from a chunked body, and refuses what is none', async (t) => {
    const { url } = common;
    const method = 'POST';
    const headers = { 'Content-Type': 'application/json' };
    const post = (body: string) =>
      fetch(`${url}/notes`, { method, headers, body: new Blob([body]).stream(), duplex: 'half' });
    const created = await post('{"title":"a process","text":"é"}');
    t.after(() => notes.deleteMany({ title: 'a process' }));
    assert.equal(created.status, 201);
    const stored = await fetch(`${url}${created.headers.get('Location')}`);
    assert.equal(await stored.text(), await created.text());
    assert.equal((await post('{"title":"a process"}')).status, 400);
    assert.equal(await notes.countDocuments({ title: 'a process' }), 1);
  });
});
