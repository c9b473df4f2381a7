import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

import express from 'express';
import request from 'supertest';

const upstream = createServer((req, res) => {
  const call = Number(new URL(req.url, 'http://upstream').searchParams.get('call'));
  const id = req.headers['x-request-id'];
  res.statusCode = id === 'fails' ? 500 : 200;
  res.end(JSON.stringify({ call, id }));
});
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
process.env.SLOW_API_URL = `http://127.0.0.1:${upstream.address().port}/`;

const { app } = await import('../src/app.js');
const { client, pool } = await import('../src/databases.js');
const { problem } = await import('../src/problems.js');

after(async () => {
  upstream.close();
  upstream.closeAllConnections();
  await client.close();
  await pool.end();
});

function fault(status, title, detail) {
  return { type: 'about:blank', title, status, ...(detail && { detail }) };
}

test('GET /index answers text', async () => {
  await request(app)
    .get('/index')
    .expect('Content-Type', 'text/plain; charset=utf-8')
    .expect(200, 'Hello, World!');
});

test('GET /json answers JSON', async () => {
  await request(app)
    .get('/json')
    .expect('Content-Type', /^application\/json/)
    .expect(200, '{"message":"Hello, World!"}');
});

test('GET /mongo answers the document that was asked for', async () => {
  for (const [path, slug] of Object.entries({ '/mongo': 'small', '/mongo?doc=big': 'big' })) {
    const { body } = await request(app).get(path).expect(200);
    assert.equal(body.slug, slug);
    assert.match(body._id, /^[0-9a-f]{24}$/);
  }
});

test('GET /agents answers all agents by their number', async () => {
  const { body } = await request(app).get('/agents').expect(200);
  const numbers = body.map((agent) => agent.number);
  assert.equal(numbers.length, 50);
  assert.deepEqual(numbers, numbers.toSorted());
});

test('GET /files and /gridfs answer a file', async () => {
  const photo = await readFile(`${process.env.FILES_DIR}/photo.jpg`);
  for (const path of ['/files/photo.jpg', '/gridfs/photo.jpg']) {
    await request(app)
      .get(path)
      .expect('Content-Type', 'image/jpeg')
      .expect('Content-Length', String(photo.length))
      .expect(200, photo);
  }
});

test('GET /sleep answers after so many milliseconds', async () => {
  const start = performance.now();
  await request(app).get('/sleep?ms=50').expect(200, { slept_ms: 50 });
  assert.ok(performance.now() - start >= 50);
});

test('GET /slow_api answers all results in order and passes the request ID on', async () => {
  const results = [0, 1, 2].map((call) => ({ call, id: 'mine' }));
  await request(app)
    .get('/slow_api?calls=3&ms=0')
    .set('X-Request-Id', 'mine')
    .expect(200, { results });
});

test('an upstream that fails is a 502', async (t) => {
  t.mock.method(console, 'error', () => {});
  await request(app)
    .get('/slow_api')
    .set('X-Request-Id', 'fails')
    .expect('Content-Type', /^application\/problem\+json/)
    .expect(502, fault(502, 'Bad Gateway'));
});

test('a parameter that is missing, empty, no number or out of bounds', async () => {
  await request(app).get('/sleep?ms=0').expect(200);
  const detail = 'ms must be an integer from 0 to 30000';
  for (const ms of ['', 'soon', '-1', '30001']) {
    await request(app)
      .get(`/sleep?ms=${ms}`)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(400, fault(400, 'Bad Request', detail));
  }
  await request(app).get('/mongo?doc=huge').expect(400);
  await request(app).get('/slow_api?calls=51').expect(400);
});

test('what is not there is a 404', async () => {
  for (const path of ['/', '/nothing', '/files/nothing', '/files/..%2fapp.js', '/gridfs/nothing']) {
    await request(app)
      .get(path)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(404, fault(404, 'Not Found'));
  }
});

test('a fault is a 500, and only the log says why', async (t) => {
  const log = t.mock.method(console, 'error', () => {});
  const faulty = express().get('/', () => pool.query('SELEC 1'));
  await request(faulty.use(problem)).get('/').expect(500, fault(500, 'Internal Server Error'));
  assert.match(log.mock.calls[0].arguments[0].message, /syntax error/);
});
