import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, beforeEach, test } from 'node:test';

const upstream = createServer((req, res) => {
  const call = Number(new URL(req.url, 'http://upstream').searchParams.get('call'));
  const id = req.headers['x-request-id'];
  res.statusCode = id === 'fails' ? 500 : 200;
  res.end(id === 'no object' ? '[]' : JSON.stringify({ call, id }));
});
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
process.env.SLOW_API_URL = `http://127.0.0.1:${upstream.address().port}/`;

const { build } = await import('../src/app.js');
const { env } = await import('../src/settings.js');

let logged = [];
const app = build({ stream: { write: (line) => logged.push(JSON.parse(line)) } });
app.get('/sql', () => app.sql('SELEC 1'));
app.get('/system', () => {
  throw Object.assign(new Error('elsewhere'), { code: 'ECONNREFUSED' });
});
await app.ready();
const notes = app.mongo.client.db().collection('notes');

beforeEach(() => (logged = []));
after(async () => {
  await app.close();
  upstream.close();
  upstream.closeAllConnections();
});

function isProblem(response, status, title) {
  assert.equal(response.statusCode, status);
  assert.match(response.headers['content-type'], /^application\/problem\+json/);
  const { detail, ...problem } = response.json();
  assert.deepEqual(problem, { type: 'about:blank', title, status });
  return detail;
}

test('GET /index answers text', async () => {
  const response = await app.inject('/index');
  assert.equal(response.headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(response.body, 'Hello, World!');
});

test('GET /json answers JSON', async () => {
  const response = await app.inject('/json');
  assert.match(response.headers['content-type'], /^application\/json/);
  assert.equal(response.body, '{"message":"Hello, World!"}');
});

test('GET /mongo answers the document that was asked for', async () => {
  for (const [path, slug] of Object.entries({ '/mongo': 'small', '/mongo?doc=big': 'big' })) {
    const article = (await app.inject(path)).json();
    assert.equal(article.slug, slug);
    assert.match(article._id, /^[0-9a-f]{24}$/);
  }
});

test('POST /notes stores a note, which GET /notes/:id answers', async (t) => {
  const payload = { title: 'café', text: '', more: 1 };
  const created = await app.inject({ method: 'POST', url: '/notes', payload });
  assert.equal(created.statusCode, 201);
  const { _id, ...note } = created.json();
  t.after(() => notes.deleteOne({ _id: new app.mongo.ObjectId(_id) }));
  assert.deepEqual(note, { title: 'café', text: '' });
  assert.equal(created.headers.location, `/notes/${_id}`);
  assert.equal((await app.inject(created.headers.location)).body, created.body);
});

test('POST /notes stores nothing of what is no note', async () => {
  const title = `no note ${Math.random()}`;
  const bad = [
    '',
    '{',
    '[]',
    'null',
    `{"title":"${title}"}`,
    `{"title":"${title}","text":1}`,
    `{"title":"${title}","text":"\\ud800"}`,
    `{"title":"${title}${'a'.repeat(200)}","text":""}`,
    '{"title":"","text":""}',
  ];
  const post = (payload) =>
    app.inject({
      method: 'POST',
      url: '/notes',
      headers: { 'Content-Type': 'application/json' },
      payload,
    });
  for (const payload of bad) assert.ok(isProblem(await post(payload), 400, 'Bad Request'), payload);
  const large = JSON.stringify({ title, text: 'a'.repeat(2 ** 20) });
  isProblem(await post(large), 413, 'Payload Too Large');
  assert.equal(await notes.countDocuments({ title: new RegExp(title) }), 0);
});

test('GET /agents answers all agents by their number', async () => {
  const numbers = (await app.inject('/agents')).json().map((agent) => agent.number);
  assert.equal(numbers.length, 50);
  assert.deepEqual(numbers, numbers.toSorted());
});

test('GET and HEAD of /files and /gridfs answer a file', async () => {
  const photo = await readFile(`${env.FILES_DIR}/photo.jpg`);
  for (const url of ['/files/photo.jpg', '/gridfs/photo.jpg']) {
    for (const [method, body] of Object.entries({ GET: photo, HEAD: Buffer.alloc(0) })) {
      const response = await app.inject({ method, url });
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers['content-type'], 'image/jpeg');
      assert.equal(Number(response.headers['content-length']), photo.length);
      assert.deepEqual(response.rawPayload, body);
    }
  }
});

test('GET /sleep answers after so many milliseconds', async () => {
  const start = performance.now();
  assert.deepEqual((await app.inject('/sleep?ms=50')).json(), { slept_ms: 50 });
  assert.ok(performance.now() - start >= 49); // a timer may be a millisecond early
});

const slowApi = (url, id) => app.inject({ url, headers: { 'X-Request-Id': id } });

test('GET /slow_api answers all results in order and passes the request ID on', async () => {
  const results = [0, 1, 2].map((call) => ({ call, id: 'mine' }));
  assert.deepEqual((await slowApi('/slow_api?calls=3&ms=0', 'mine')).json(), { results });
});

test('an upstream that fails is a 502, and its cause is logged once', async () => {
  for (const id of ['fails', 'no object']) {
    isProblem(await slowApi('/slow_api', id), 502, 'Bad Gateway');
  }
  assert.equal(logged.length, 2);
  assert.match(logged[0].err.message, /answered 500/);
});

test('a parameter that is missing, empty, no number or out of bounds', async () => {
  assert.equal((await app.inject('/sleep?ms=0')).statusCode, 200);
  for (const ms of ['', 'soon', '-1', '1.5', '30001']) {
    assert.match(isProblem(await app.inject(`/sleep?ms=${ms}`), 400, 'Bad Request'), /ms must be/);
  }
  for (const url of ['/mongo?doc=huge', '/slow_api?calls=51']) {
    isProblem(await app.inject(url), 400, 'Bad Request');
  }
});

test('what is not there is a 404', async () => {
  const notes = ['/notes/1', '/notes/ffffffffffffffffffffffff'];
  for (const url of ['/', '/nothing', '/files/nothing', `/gridfs/${'a'.repeat(255)}`, ...notes]) {
    isProblem(await app.inject(url), 404, 'Not Found');
  }
  assert.deepEqual(logged, []);
});

test('a method that is not meant runs no handler', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    isProblem(await app.inject({ method, url: '/json' }), 404, 'Not Found');
  }
});

test('a fault is a 500, and only the log says why', async () => {
  for (const url of ['/sql', '/system']) {
    isProblem(await app.inject(url), 500, 'Internal Server Error');
  }
  assert.match(logged[0].err.message, /syntax error/);
  assert.equal(logged.length, 2);
});
