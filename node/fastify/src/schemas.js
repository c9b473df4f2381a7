const object = (properties) => ({ type: 'object', properties });
const answer = (schema) => ({ 200: schema });
const integer = (minimum, maximum, value) => ({
  type: 'integer',
  minimum,
  maximum,
  default: value,
});
const string = { type: 'string' };
const nullable = { type: ['string', 'null'] };
const characters = { type: 'string', pattern: '^\\P{Cs}*$' }; // no half of a surrogate pair

export const result = { type: 'object', additionalProperties: true };

export const json = { response: answer(object({ message: string })) };

const doc = { enum: ['small', 'big'], default: 'small' };
const article = { ...object({ _id: string }), additionalProperties: true };
export const mongo = { querystring: object({ doc }), response: answer(article) };

const Note = object({ _id: string, title: string, text: string });
export const note = { response: answer(Note) };
export const newNote = {
  body: {
    type: 'object',
    required: ['title', 'text'],
    properties: {
      title: { ...characters, minLength: 1, maxLength: 200 },
      text: { ...characters, maxLength: 10_000 },
    },
    additionalProperties: false, // others are dropped
  },
  response: { 201: Note },
};

const Agent = object({
  number: string,
  extension: nullable,
  context: nullable,
  state_interface: nullable,
  status: string,
  extension_status: string,
  paused: string,
});
export const agents = { response: answer({ type: 'array', items: Agent }) };

export const sleep = {
  querystring: object({ ms: integer(0, 30_000, 1000) }),
  response: answer(object({ slept_ms: { type: 'integer' } })),
};

export const slowApi = {
  querystring: object({ calls: integer(1, 50, 10), ms: integer(0, 5000, 1000) }),
  response: answer(object({ results: { type: 'array', items: result } })),
};
