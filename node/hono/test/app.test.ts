import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';

import { Hono } from 'hono';
import { ObjectId } from 'mongodb';

const upstream = createServer((req, res) => {
  const call = Number(new URL(req.url ?? '', 'http://upstream').searchParams.get('call'));
  const id = req.headers['x-request-id'];
  res.statusCode = id === 'fails' ? 500 : 200;
  res.end(id === 'no object' ? '[]' : JSON.stringify({ call, id }));
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
process.env.SLOW_API_URL = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;

const { app } = await import('../src/app.ts');
const { client, notes, pool, query } = await import('../src/databases.ts');
const { problem } = await import('../src/problems.ts');
const { env, log } = await import('../src/settings.ts');

after(async () => {
  upstream.close();
  upstream.closeAllConnections();
  await client.close();
  await pool.end();
});

async function expectProblem(response: Response, status: number, title: string) {
  assert.equal(response.status, status);
  assert.equal(response.headers.get('Content-Type'), 'application/problem+json');
  const { errors, ...rest } = (await response.json()) as { errors?: { path: string[] }[] };
  assert.deepEqual(rest, { type: 'about:blank', title, status });
  return errors ?? [];
}

function logged(t: TestContext) {
  const { mock } = t.mock.method(log, 'error', () => {});
  return () => mock.calls.map(({ arguments: [entry] }) => (entry as { err: Error }).err.message);
}

function post(body: string) {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': `${body.length}` };
  return app.request('/notes', { method: 'POST', headers, body });
}

test('GET /index answers text', async () => {
  const response = await app.request('/index');
  assert.match(response.headers.get('Content-Type') ?? '', /^text\/plain; ?charset=utf-8$/i);
  assert.equal(await response.text(), 'Hello, World!');
});

test('GET /json answers JSON', async () => {
  const response = await app.request('/json');
  assert.equal(response.headers.get('Content-Type'), 'application/json');
  assert.equal(await response.text(), '{"message":"Hello, World!"}');
});

test('GET /mongo answers the document that was asked for', async () => {
  for (const [path, slug] of Object.entries({ '/mongo': 'small', '/mongo?doc=big': 'big' })) {
    const response = await app.request(path);
    const article = (await response.json()) as { _id: string; slug: string };
    assert.equal(article.slug, slug);
    assert.match(article._id, /^[0-9a-f]{24}$/);
  }
});

test('a note is stored once, and comes back as it was', async (t) => {
  const note = { title: '😀'.repeat(200), text: 'Bread, salt, café\n\u0000'.repeat(500) };
  const created = await post(JSON.stringify(note));
  assert.equal(created.status, 201);
  const text = await created.text();
  const { _id } = JSON.parse(text);
  t.after(() => notes.deleteOne({ _id: new ObjectId(_id as string) }));
  assert.equal(text, JSON.stringify({ _id, ...note }));
  assert.equal(created.headers.get('Location'), `/notes/${_id}`);
  assert.equal(await (await app.request(`/notes/${_id}`)).text(), text);
  assert.equal(await notes.countDocuments({ title: note.title }), 1);
});

test('what is no note is refused, and not stored', async () => {
  const count = await notes.countDocuments();
  const bad = ['', '{', 'null', '[]', '{"title":"a"}', '{"title":1,"text":""}'];
  bad.push(`{"title":"${'a'.repeat(201)}","text":""}`, '{"title":"\\ud800","text":""}');
  for (const body of bad) await expectProblem(await post(body), 400, 'Bad Request');
  const large = JSON.stringify({ title: 'large', text: 'a'.repeat(2 ** 20) });
  await expectProblem(await post(large), 413, 'Payload Too Large');
  assert.equal(await notes.countDocuments(), count);
});

test('GET /agents answers all agents by their number', async () => {
  const agents = (await (await app.request('/agents')).json()) as { number: string }[];
  const numbers = agents.map((agent) => agent.number);
  assert.equal(numbers.length, 50);
  assert.deepEqual(numbers, numbers.toSorted());
});

test('GET and HEAD of /files and /gridfs answer a file', async () => {
  const photo = await readFile(`${env.FILES_DIR}/photo.jpg`);
  for (const path of ['/files/photo.jpg', '/gridfs/photo.jpg']) {
    for (const method of ['GET', 'HEAD']) {
      const response = await app.request(path, { method });
      assert.equal(response.headers.get('Content-Type'), 'image/jpeg');
      assert.equal(response.headers.get('Content-Length'), `${photo.length}`);
      const body = Buffer.from(await response.arrayBuffer());
      assert.deepEqual(body, method === 'GET' ? photo : Buffer.alloc(0));
    }
  }
});

test('GET /sleep answers after so many milliseconds', async () => {
  const start = performance.now();
  assert.deepEqual(await (await app.request('/sleep?ms=50')).json(), { slept_ms: 50 });
  assert.ok(performance.now() - start >= 49); // a timer may be a millisecond early
});

test('GET /slow_api answers all results in order and passes the request ID on', async () => {
  const headers = { 'X-Request-Id': 'mine' };
  const response = await app.request('/slow_api?calls=3&ms=0', { headers });
  const results = [0, 1, 2].map((call) => ({ call, id: 'mine' }));
  assert.deepEqual(await response.json(), { results });
});

test('an upstream that fails is a 502, and its cause is logged once', async (t) => {
  const messages = logged(t);
  for (const [index, id] of ['fails', 'no object'].entries()) {
    const response = await app.request('/slow_api', { headers: { 'X-Request-Id': id } });
    await expectProblem(response, 502, 'Bad Gateway');
    assert.equal(messages().length, index + 1);
  }
  assert.match(messages()[0], /answered 500/);
});

test('a parameter that is missing, empty, no number or out of bounds', async () => {
  assert.equal((await app.request('/sleep?ms=0')).status, 200);
  for (const ms of ['', 'soon', '-1', '1.0', '30001']) {
    const errors = await expectProblem(await app.request(`/sleep?ms=${ms}`), 400, 'Bad Request');
    assert.deepEqual(errors[0].path, ['ms']);
  }
  for (const path of ['/mongo?doc=huge', '/slow_api?calls=51']) {
    await expectProblem(await app.request(path), 400, 'Bad Request');
  }
});

test('what is not there is a 404', async () => {
  const notes = ['/notes/1', '/notes/ffffffffffffffffffffffff'];
  for (const path of ['/', '/nothing', '/files/nothing', '/gridfs/nothing', ...notes]) {
    await expectProblem(await app.request(path), 404, 'Not Found');
  }
});

test('a method that is not meant runs no handler', async () => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    assert.equal((await app.request('/json', { method })).status, 404);
  }
});

test('a fault is a 500, and only the log says why', async (t) => {
  const messages = logged(t);
  const faulty = new Hono().get('/sql', async (c) => c.json(await query('SELEC 1')));
  await expectProblem(await faulty.onError(problem).request('/sql'), 500, 'Internal Server Error');
  assert.match(messages()[0], /syntax error/);
});
