const string = { type: 'string' };
const text = (minLength, maxLength) => ({ ...string, minLength, maxLength, pattern: '^\\P{Cs}*$' });
const int = (minimum, maximum, value) => ({ type: 'integer', minimum, maximum, default: value });
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const array = (items) => ({ type: 'array', items });

export const any = { type: 'object', additionalProperties: true };
export const json = { response: { 200: object({ message: string }) } };

const Doc = object({ doc: { enum: ['small', 'big'], default: 'small' } });
const Article = { ...any, properties: { _id: string } };
export const mongo = { querystring: Doc, response: { 200: Article } };

const NewNote = object({ title: text(1, 200), text: text(0, 10_000) });
const Note = object({ _id: string, title: string, text: string });
const body = { ...NewNote, additionalProperties: false };
export const newNote = { body, response: { 201: Note } };
export const note = { response: { 200: Note } };

const Agent = { type: 'object', additionalProperties: { type: ['string', 'null'] } };
export const agents = { response: { 200: array(Agent) } };

const Slept = object({ slept_ms: { type: 'integer' } });
const Sleep = object({ ms: int(0, 30_000, 1000) });
export const sleep = { querystring: Sleep, response: { 200: Slept } };

const SlowApi = object({ calls: int(1, 50, 10), ms: int(0, 5000, 1000) });
const Results = object({ results: array(any) });
export const slowApi = { querystring: SlowApi, response: { 200: Results } };
