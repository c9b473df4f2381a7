import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

import express from 'express';
import { ObjectId } from 'mongodb';
import request from 'supertest';

const upstream = createServer((req, res) => {
  const call = Number(new URL(req.url, 'http://upstream').searchParams.get('call'));
  const id = req.headers['x-request-id'];
  res.statusCode = id === 'fails' ? 500 : 200;
  res.end(id === 'no object' ? '[]' : JSON.stringify({ call, id }));
});
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
process.env.SLOW_API_URL = `http://127.0.0.1:${upstream.address().port}/`;

const { app } = await import('../src/app.js');
const { client, notes, pool, query } = await import('../src/databases.js');
const { problem } = await import('../src/problems.js');
const { env, log } = await import('../src/settings.js');

after(async () => {
  upstream.close();
  upstream.closeAllConnections();
  await client.close();
  await pool.end();
});

function fault(status, title) {
  return { type: 'about:blank', title, status };
}

function errors(t) {
  const { mock } = t.mock.method(log, 'error', () => {});
  return () => mock.calls.map(({ arguments: [entry] }) => entry.err.message);
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

test('a note is stored once, and comes back as it was', async (t) => {
  const note = { title: '😀'.repeat(200), text: 'Bread, salt, café\n\u0000'.repeat(500) };
  const created = await request(app).post('/notes').send(note).expect(201);
  const { _id } = created.body;
  t.after(() => notes.deleteOne({ _id: new ObjectId(_id) }));
  assert.equal(created.text, JSON.stringify({ _id, ...note }));
  assert.equal(created.headers.location, `/notes/${_id}`);
  await request(app).get(`/notes/${_id}`).expect(200, created.text);
  assert.equal(await notes.countDocuments({ title: note.title }), 1);
});

test('what is no note is refused, and not stored', async () => {
  const count = await notes.countDocuments();
  const bad = [
    '',
    '{',
    'null',
    '[]',
    '{"title":"a"}',
    '{"title":1,"text":""}',
    '{"title":"","text":""}',
  ];
  bad.push(`{"title":"${'a'.repeat(201)}","text":""}`, '{"title":"\\ud800","text":""}');
  for (const body of bad) {
    const { body: answer } = await request(app)
      .post('/notes')
      .type('json')
      .send(body)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(400);
    const { detail, errors, ...rest } = answer;
    assert.deepEqual(rest, fault(400, 'Bad Request'));
    assert.ok(detail || errors, body);
  }
  const large = { title: 'large', text: 'a'.repeat(2 ** 20) };
  await request(app).post('/notes').send(large).expect(413, fault(413, 'Payload Too Large'));
  assert.equal(await notes.countDocuments(), count);
});

test('GET /agents answers all agents by their number', async () => {
  const { body } = await request(app).get('/agents').expect(200);
  const numbers = body.map((agent) => agent.number);
  assert.equal(numbers.length, 50);
  assert.deepEqual(numbers, numbers.toSorted());
});

test('GET and HEAD of /files and /gridfs answer a file', async () => {
  const photo = await readFile(`${env.FILES_DIR}/photo.jpg`);
  for (const path of ['/files/photo.jpg', '/gridfs/photo.jpg']) {
    for (const answer of [request(app).get(path).expect(photo), request(app).head(path)]) {
      await answer
        .expect('Content-Type', 'image/jpeg')
        .expect('Content-Length', String(photo.length))
        .expect(200);
    }
  }
});

test('GET /sleep answers after so many milliseconds', async () => {
  const start = performance.now();
  await request(app).get('/sleep?ms=50').expect(200, { slept_ms: 50 });
  assert.ok(performance.now() - start >= 49); // a timer may be a millisecond early
});

test('GET /slow_api answers all results in order and passes the request ID on', async () => {
  const results = [0, 1, 2].map((call) => ({ call, id: 'mine' }));
  await request(app)
    .get('/slow_api?calls=3&ms=0')
    .set('X-Request-Id', 'mine')
    .expect(200, { results });
});

test('an upstream that fails is a 502, and its cause is logged once', async (t) => {
  const logged = errors(t);
  for (const [index, id] of ['fails', 'no object'].entries()) {
    await request(app)
      .get('/slow_api')
      .set('X-Request-Id', id)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(502, fault(502, 'Bad Gateway'));
    assert.equal(logged().length, index + 1);
  }
  assert.match(logged()[0], /answered 500/);
});

test('a parameter that is missing, empty, no number or out of bounds', async () => {
  await request(app).get('/sleep?ms=0').expect(200);
  for (const ms of ['', 'soon', '-1', '1.0', '30001']) {
    const { body } = await request(app).get(`/sleep?ms=${ms}`).expect(400);
    assert.deepEqual(body.errors[0].path, ['ms']);
  }
  await request(app).get('/mongo?doc=huge').expect(400);
  await request(app).get('/slow_api?calls=51').expect(400);
});

test('what is not there is a 404', async () => {
  const notes = ['/notes/1', '/notes/ffffffffffffffffffffffff'];
  for (const path of ['/', '/nothing', '/files/nothing', '/gridfs/nothing', ...notes]) {
    await request(app)
      .get(path)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(404, fault(404, 'Not Found'));
  }
});

test('a method that is not meant runs no handler, and OPTIONS names those that are', async () => {
  for (const method of ['post', 'put', 'delete']) await request(app)[method]('/json').expect(404);
  await request(app).options('/json').expect('Allow', 'GET, HEAD').expect(200);
});

test('a fault is a 500, and only the log says why', async (t) => {
  const logged = errors(t);
  const away = Object.assign(new Error('elsewhere'), { code: 'ECONNREFUSED' });
  const faulty = express()
    .get('/sql', () => query('SELEC 1'))
    .get('/system', () => Promise.reject(away))
    .use(problem);
  for (const path of ['/sql', '/system']) {
    await request(faulty).get(path).expect(500, fault(500, 'Internal Server Error'));
  }
  assert.match(logged()[0], /syntax error/);
});
