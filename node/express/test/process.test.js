import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { bucket, client, notes } from '../src/databases.js';
import { env } from '../src/settings.js';

const silent = createServer(() => {}); // accepts, and never answers
const { port: SILENT } = await listening(silent);
const REFUSING = await freePort();
after(() => client.close());
after(() => silent.close());

async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address();
}

async function freePort() {
  const server = createServer();
  const { port } = await listening(server);
  server.close();
  return port;
}

/** Start a program as a user does; `output` grows, `exited` is its status. */
function start(t, settings, program = 'src/main.js', cwd = '.') {
  const env = { ...process.env, ...settings };
  const child = spawn(process.execPath, [resolve(program)], { env, cwd });
  const started = { child, output: '', exited: once(child, 'exit').then(([code]) => code) };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => (started.output += data));
  }
  t.after(() => child.kill('SIGKILL'));
  return started;
}

/** Start a server, and wait until it serves. */
async function serve(t, settings = {}, program = undefined) {
  const port = await freePort();
  const server = start(t, { PORT: port, ...settings }, program);
  server.url = `http://127.0.0.1:${port}`;
  await until(() => server.output.includes('"listening"'), server);
  return server;
}

async function until(condition, server) {
  for (let wait = 0; !(await condition()); wait++) {
    assert.ok(wait < 600, server.output);
    await setTimeout(50);
  }
}

function parsed({ output }) {
  return output.split('\n').slice(0, -1).map(JSON.parse);
}

function entries(server) {
  return parsed(server).filter(({ level }) => level >= 50);
}

/** Pass connections on to MongoDB until it stops; `url` is its own. */
async function relay() {
  const { host, port } = client.options.hosts[0];
  const sockets = new Set();
  const server = createServer((socket) => {
    const target = connect(port, host);
    socket.pipe(target).pipe(socket);
    for (const end of [socket, target]) sockets.add(end.on('error', () => {}));
  });
  const url = new URL(env.MONGODB_URL);
  url.host = `127.0.0.1:${(await listening(server)).port}`;
  const stop = () => server.close() && sockets.forEach((socket) => socket.destroy());
  return { stop, url: url.href };
}

/** Store a file in GridFS until the test ends, and return its name. */
async function store(t, bytes, options = {}, missing = -1) {
  const stored = bucket.openUploadStream(`test-${missing}`, options).end(bytes);
  await once(stored, 'finish');
  t.after(() => bucket.delete(stored.id));
  await client.db().collection('fs.chunks').deleteOne({ files_id: stored.id, n: missing });
  return stored.filename;
}

describe('a process', { concurrency: 4 }, () => {
  let common;
  before(async () => (common = await serve({ after: () => {} })));
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

  for (const program of ['src/main.js', 'src/cluster.js']) {
    test(`ends with all bad settings named, and no password: ${program}`, async (t) => {
      const bad = {
        PORT: '70000',
        WORKERS: '0',
        MONGODB_URL: 'mongodb://me:secret@host:99999/',
        MONGODB_POOL_SIZE: '12abc',
        DATABASE_URL: 'postgresql://me:secret@host:99999/',
        DATABASE_POOL_SIZE: '3.5',
        FILES_DIR: 'package.json',
        SLOW_API_URL: 'nonsense',
      };
      const server = start(t, bad, program);
      assert.notEqual(await server.exited, 0);
      for (const name of Object.keys(bad)) assert.match(server.output, new RegExp(name));
      assert.doesNotMatch(server.output, /secret/);
    });
  }

  test('reads .env, whole URLs included, where the environment has nothing', async (t) => {
    const folder = await mkdtemp(`${tmpdir()}/test-`);
    t.after(() => rm(folder, { recursive: true }));
    const url = 'mongodb://127.0.0.1/test?authSource=admin&tls=perhaps';
    await writeFile(`${folder}/.env`, `PORT=70000\nWORKERS=0\nMONGODB_URL=${url}\n`);
    const settings = { PORT: undefined, WORKERS: '1', MONGODB_URL: undefined, FILES_DIR: '' };
    const server = start(t, settings, 'src/main.js', folder);
    assert.notEqual(await server.exited, 0);
    assert.match(server.output, /PORT/);
    assert.match(server.output, /MONGODB_URL.*tls/);
    assert.match(server.output, /FILES_DIR/);
    assert.doesNotMatch(server.output, /WORKERS/);
  });

  test('ends if its port is in use', async (t) => {
    const server = start(t, { PORT: SILENT }, 'src/cluster.js');
    assert.equal(await server.exited, 1);
    assert.match(server.output, /EADDRINUSE/);
  });

  for (const [what, port, cause] of [
    ['refuses', REFUSING, /ECONNREFUSED/],
    ['stays silent', SILENT, /timeout/],
  ]) {
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
    for (const [path, options] of [['/mongo'], ['/notes', { method: 'POST', ...body }]]) {
      assert.equal((await fetch(server.url + path, options)).status, 503);
      await until(() => entries(server).some(({ url }) => url === path), server);
    }
    assert.equal(entries(server).length, 2);
    assert.equal(await notes.countDocuments(note), 0);
  });

  for (const [what, port, status, cause] of [
    ['refuses', REFUSING, 502, /ECONNREFUSED/],
    ['is late', SILENT, 504, /timeout/],
  ]) {
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
    [0, 500],
    [1, 200],
    [3, 200],
  ]) {
    test(`answers a file that lacks chunk ${chunk} with a 500, or ends before its length`, async (t) => {
      const name = await store(t, Buffer.alloc(4000), { chunkSizeBytes: 1000 }, chunk);
      const signal = AbortSignal.timeout(10_000);
      const response = await fetch(`${common.url}/gridfs/${name}`, { signal });
      assert.equal(response.status, status);
      if (status === 500) assert.equal((await response.json()).status, 500);
      else await assert.rejects(response.arrayBuffer(), { message: 'terminated' });
    });
  }

  test('serves a file without metadata', async (t) => {
    const name = await store(t, 'bytes');
    const response = await fetch(`${common.url}/gridfs/${name}`);
    assert.equal(response.headers.get('Content-Type'), 'application/octet-stream');
    assert.equal(await response.text(), 'bytes');
  });

  test('answers 404 to paths that leave the folder', async () => {
    const { url } = common;
    for (const path of [
      '/files/../app.js',
      '/files/..%2f..%2fpackage.json',
      '/files//etc/passwd',
    ]) {
      const [response] = await once(get(url, { path }), 'response');
      assert.equal(response.resume().statusCode, 404, path);
    }
  });

  test('stores a note from a chunked body, and refuses what is none', async (t) => {
    const { url } = common;
    const method = 'POST';
    const headers = { 'Content-Type': 'application/json' };
    const post = (body) =>
      fetch(`${url}/notes`, { method, headers, body: new Blob([body]).stream(), duplex: 'half' });
    const created = await post('{"title":"a process","text":"é"}');
    t.after(() => notes.deleteMany({ title: 'a process' }));
    assert.equal(created.status, 201);
    const stored = await fetch(url + created.headers.get('Location'));
    assert.equal(await stored.text(), await created.text());
    assert.equal((await post('{"title":"a process"}')).status, 400);
    assert.equal(await notes.countDocuments({ title: 'a process' }), 1);
  });

  test('replaces a worker that dies, and ends with all workers', async (t) => {
    const server = await serve(t, { WORKERS: '2' }, 'src/cluster.js');
    const pids = () => parsed(server).flatMap(({ msg, pid }) => (msg === 'listening' ? pid : []));
    await until(() => pids().length === 2, server);
    process.kill(pids()[0], 'SIGKILL');
    await until(() => pids().length === 3, server);
    server.child.kill('SIGTERM');
    assert.equal(await server.exited, 0);
    for (const pid of pids()) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});
