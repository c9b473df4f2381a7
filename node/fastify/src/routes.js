import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

import { Ajv } from 'ajv';
import { GridFSBucket, ObjectId } from 'mongodb';
import * as undici from 'undici';

import * as schemas from './schemas.js';
import { env } from './settings.js';

const AGENTS = `
  SELECT f.number, s.extension, s.context, s.state_interface,
         'offline' AS status, '-1' AS extension_status, '0' AS paused
    FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
   ORDER BY f.number`;

const bodies = new Ajv({ removeAdditional: true }); // unlike Fastify's own, makes no string of a 1
const validatorCompiler = ({ schema }) => bodies.compile(schema);

export default async function routes(app) {
  const db = app.mongo.client.db();
  const notes = db.collection('notes');
  const bucket = new GridFSBucket(db);

  app.get('/index', async () => 'Hello, World!');

  app.get('/json', { schema: schemas.json }, async () => ({ message: 'Hello, World!' }));

  app.get('/mongo', { schema: schemas.mongo }, async (request, reply) => {
    const article = await db.collection('articles').findOne({ slug: request.query.doc });
    return article ?? reply.callNotFound();
  });

  app.post('/notes', { schema: schemas.newNote, validatorCompiler }, async (request, reply) => {
    const note = { _id: new ObjectId(), ...request.body };
    await notes.insertOne(note);
    return reply.code(201).header('Location', `/notes/${note._id}`).send(note);
  });

  app.get('/notes/:id', { schema: schemas.note }, async (request, reply) => {
    const { id } = request.params;
    const note = ObjectId.isValid(id) && (await notes.findOne({ _id: new ObjectId(id) }));
    return note || reply.callNotFound();
  });

  app.get('/agents', async () => (await app.sql(AGENTS)).rows);

  app.get('/files/*', (request, reply) => reply.sendFile(request.params['*']));

  app.get('/gridfs/:name', async (request, reply) => {
    const newest = { sort: { uploadDate: -1 }, limit: 1 };
    const file = await bucket.find({ filename: request.params.name }, newest).next();
    if (!file) return reply.callNotFound();
    reply.type(file.metadata?.contentType ?? 'application/octet-stream');
    const content = request.method === 'HEAD' ? [] : whole(file); // Fastify would read it for HEAD, too
    return reply.header('Content-Length', file.length).send(Readable.from(content));
  });

  async function* whole(file) {
    let left = file.length;
    const content = bucket.openDownloadStream(file._id);
    content.on('close', () => content.abort()); // otherwise MongoDB's cursor stays if a client leaves
    for await (const chunk of content) {
      left -= chunk.length;
      yield chunk;
    }
    if (left) throw new Error('the last chunks are missing'); // which the driver does not notice
  }

  app.get('/sleep', { schema: schemas.sleep }, async (request) => {
    await setTimeout(request.query.ms);
    return { slept_ms: request.query.ms };
  });

  app.get('/slow_api', { schema: schemas.slowApi }, async (request) => {
    const { calls, ms } = request.query;
    const headers = { 'X-Request-Id': request.headers['x-request-id'] };
    const failed = new AbortController();
    const signal = AbortSignal.any([request.signal, failed.signal, AbortSignal.timeout(ms + 5000)]);
    const callUpstream = async (_, call) => {
      const options = { headers, query: { call, ms }, signal };
      const { body, statusCode } = await undici.request(env.SLOW_API_URL, options);
      const result = statusCode === 200 && (await body.json());
      if (request.validateInput(result, schemas.upstream)) return result;
      throw new Error(`the upstream answered ${statusCode}, and no JSON object`);
    };
    try {
      return { results: await Promise.all(Array.from({ length: calls }, callUpstream)) };
    } catch (error) {
      failed.abort();
      const statuses = { AbortError: 499, TimeoutError: 504 }; // 499: the client has left
      throw Object.assign(error, { statusCode: statuses[error.name] ?? 502 });
    }
  });
}
