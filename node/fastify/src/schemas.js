const string = { type: 'string' };
const text = (minLength, maxLength) => ({ ...string, minLength, maxLength, pattern: '^\\P{Cs}*$' });
const int = (minimum, maximum, value) => ({ type: 'integer', minimum, maximum, default: value });
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });

export const upstream = { type: 'object' };
export const json = { response: { 200: object({ message: string }) } };

export const mongo = { querystring: object({ doc: { enum: ['small', 'big'], default: 'small' } }) };

const NewNote = object({ title: text(1, 200), text: text(0, 10_000) });
const Note = object({ _id: string, title: string, text: string });
const body = { ...NewNote, additionalProperties: false };
export const newNote = { body, response: { 201: Note } };
export const note = { response: { 200: Note } };

const Slept = object({ slept_ms: { type: 'integer' } });
const Sleep = object({ ms: int(0, 30_000, 1000) });
export const sleep = { querystring: Sleep, response: { 200: Slept } };

const SlowApi = object({ calls: int(1, 50, 10), ms: int(0, 5000, 1000) });
export const slowApi = { querystring: SlowApi };
