import { after, test } from 'node:test';

import request from 'supertest';

process.env.MONGODB_URL = 'mongodb://127.0.0.1:9/refservers';
process.env.DATABASE_URL = 'postgresql://refservers@127.0.0.1:9/refservers';

const { app } = await import('../src/app.js');
const { client, pool } = await import('../src/databases.js');

after(() => Promise.all([client.close(), pool.end()]));

for (const path of ['/mongo', '/agents']) {
  test(`GET ${path} is a 503 while its database is away`, async (t) => {
    t.mock.method(console, 'error', () => {});
    await request(app)
      .get(path)
      .expect('Content-Type', /^application\/problem\+json/)
      .expect(503, { type: 'about:blank', title: 'Service Unavailable', status: 503 });
  });
}
