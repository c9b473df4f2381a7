import { setTimeout } from 'node:timers/promises';

import createError from 'http-errors';
import { request } from 'undici';

import { json, send } from './answers.js';
import { AGENTS, available, mongodb, rows } from './databases.js';
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
export const index = (req, res) => {
  send(res, 'text/plain; charset=utf-8', 'Hello, World!');
};

/** @type {RequestHandler} */
export const hello = (req, res) => {
  json(res, { message: 'Hello, World!' });
};

/** @type {RequestHandler} */
export const article = async (req, res) => {
  const { doc = 'small' } = req.query;
  if (doc !== 'small' && doc !== 'big') throw createError(400, 'doc must be small or big');
  const found = await available(articles.findOne({ slug: doc }));
  if (!found) throw createError(404);
  json(res, found);
};

/** @type {RequestHandler} */
export const agents = async (req, res) => {
  json(res, await rows(AGENTS));
};

/** @type {RequestHandler} */
export const sleep = async (req, res) => {
  const ms = integer(req, 'ms', { fallback: 1000, low: 0, high: 30000 });
  await setTimeout(ms + 1); // a timer may be up to 1 ms early
  json(res, { slept_ms: ms });
};

/** @type {RequestHandler} */
export const slowApi = async (req, res) => {
  const calls = integer(req, 'calls', { fallback: 10, low: 1, high: 50 });
  const ms = integer(req, 'ms', { fallback: 1000, low: 0, high: 5000 });
  const options = {
    headers: { 'X-Request-Id': req.get('X-Request-Id') },
    signal: AbortSignal.timeout(ms + 5000),
  };
  const urls = Array.from({ length: calls }, (_, number) => {
    return `${settings.slowApiUrl}?call=${number}&ms=${ms}`;
  });
  try {
    json(res, { results: await Promise.all(urls.map((url) => call(url, options))) });
  } catch (cause) {
    throw createError(options.signal.aborted ? 504 : 502, { cause });
  }
};

/**
 * @param {string} url
 * @param {Parameters<typeof request>[1]} options
 */
async function call(url, options) {
  const { statusCode, body } = await request(url, options);
  const result = await body.json();
  if (statusCode === 200 && isObject(result)) return result;
  throw new Error(`the upstream answered ${statusCode} ${JSON.stringify(result)}`);
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
