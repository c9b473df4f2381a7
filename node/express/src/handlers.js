import { setTimeout } from 'node:timers/promises';

import createError from 'http-errors';
import { request } from 'undici';

import { json, send } from './answers.js';
import { AGENTS, available, mongodb, postgresql } from './databases.js';
import { settings } from './settings.js';

/** @import { Request, RequestHandler } from 'express' */

const articles = mongodb.collection('articles');

/**
 * @param {Request} req
 * @param {string} name
 * @param {{ fallback: number, low: number, high: number }} bounds
 */
function integer(req, name, { fallback, low, high }) {
  const text = String(req.query[name] ?? fallback); // given twice, it is an array: "1,2"
  const value = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && value >= low && value <= high) return value;
  throw createError(400, `${name} must be an integer from ${low} to ${high}`);
}

/** @type {RequestHandler} */
export function index(req, res) {
  send(res, 'text/plain; charset=utf-8', 'Hello, World!');
}

/** @type {RequestHandler} */
export function hello(req, res) {
  json(res, { message: 'Hello, World!' });
}

/** @type {RequestHandler} */
export async function article(req, res) {
  const { doc = 'small' } = req.query;
  if (doc !== 'small' && doc !== 'big') throw createError(400, 'doc must be small or big');
  const found = await available(articles.findOne({ slug: doc }));
  if (!found) throw createError(404);
  json(res, found);
}

/** @type {RequestHandler} */
export async function agents(req, res) {
  const { rows } = await available(postgresql.query(AGENTS));
  json(res, rows);
}

/** @type {RequestHandler} */
export async function sleep(req, res) {
  const ms = integer(req, 'ms', { fallback: 1000, low: 0, high: 30000 });
  await setTimeout(ms);
  json(res, { slept_ms: ms });
}

/** @type {RequestHandler} */
export async function slowApi(req, res) {
  const calls = integer(req, 'calls', { fallback: 10, low: 1, high: 50 });
  const ms = integer(req, 'ms', { fallback: 1000, low: 0, high: 5000 });
  const id = req.get('X-Request-Id');
  const headers = id ? { 'X-Request-Id': id } : {};
  const signal = AbortSignal.timeout(ms + 5000);
  try {
    const results = await Promise.all(
      Array.from({ length: calls }, (_, number) => call({ number, ms, headers, signal })),
    );
    json(res, { results });
  } catch (cause) {
    throw createError(signal.aborted ? 504 : 502, { cause });
  }
}

/** @param {{ number: number, ms: number, headers: Record<string, string>, signal: AbortSignal }} options */
async function call({ number, ms, headers, signal }) {
  const url = `${settings.slowApiUrl}?call=${number}&ms=${ms}`;
  const { statusCode, body } = await request(url, { headers, signal });
  const result = await body.json();
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  if (statusCode !== 200 || !isObject) {
    throw new Error(`the upstream answered ${statusCode} ${JSON.stringify(result)}`);
  }
  return result;
}
