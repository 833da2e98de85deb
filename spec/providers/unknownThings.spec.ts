import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Chunk } from '../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import type { Wire } from '../../lib/protocol/wire.js';
import { compatible } from '../../lib/providers/chatCompletions/compatible.js';
import { decodeChatCompletions } from '../../lib/providers/chatCompletions/decode.js';
import { decodeCohere } from '../../lib/providers/cohere/decode.js';
import { decodeOllama } from '../../lib/providers/ollama/decode.js';
import { mistral as mistralDialect } from '../../lib/testing/server/dialects/chatCompletions/variant.js';
import { cohere as cohereDialect } from '../../lib/testing/server/dialects/cohere/cohere.js';
import type { Dialect } from '../../lib/testing/server/dialects/dialect.js';
import { ollama as ollamaDialect } from '../../lib/testing/server/dialects/ollama/ollama.js';
import { readAnswer } from '../support/recordedAnswers.js';

const decodeMistral: Wire['decode'] = (emit) => decodeChatCompletions({ ...compatible, provider: 'mistral' }, emit);

/** The three wires. */
const wires: readonly {
  readonly name: string;
  readonly decode: Wire['decode'];
  readonly dialect: Dialect;
  /** A frame with a call of a kind that does not exist. */
  readonly unknownCall: JsonObject;
  /** The last frame, with a finish reason. */
  readonly end: (reason: string) => JsonObject;
}[] = [
  {
    name: 'mistral',
    decode: decodeMistral,
    dialect: mistralDialect,
    unknownCall: {
      choices: [{ index: 0, delta: { tool_calls: [{ id: 'u1', type: 'gesture', gesture: { of: 'hand' } }] } }],
    },
    end: (reason) => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
  },
  {
    name: 'cohere',
    decode: decodeCohere,
    dialect: cohereDialect,
    unknownCall: {
      type: 'tool-call-start',
      index: 7,
      delta: { message: { tool_calls: { id: 'u1', type: 'gesture', gesture: { of: 'hand' } } } },
    },
    end: (reason) => ({ type: 'message-end', delta: { finish_reason: reason } }),
  },
  {
    name: 'ollama',
    decode: decodeOllama,
    dialect: ollamaDialect,
    unknownCall: { message: { role: 'assistant', content: '', tool_calls: [{ id: 'u1', gesture: { of: 'hand' } }] } },
    end: (reason) => ({ message: { role: 'assistant', content: '' }, done: true, done_reason: reason }),
  },
];

const answer: readonly Chunk[] = [
  { type: 'thinking', text: 'Two look-ups.' },
  { type: 'text', text: 'Let me see.' },
  { type: 'toolCallFragment', index: 0, id: 'call_1', name: 'add', arguments: '{"a":1}' },
  { type: 'toolCallFragment', index: 1, id: 'call_2', name: 'now', arguments: '{}' },
  { type: 'finish', reason: 'toolCalls', usage: { input: 3, output: 4 } },
];
const framesOf = (dialect: Dialect): readonly JsonObject[] => {
  const writer = dialect.writer({ turn: 1, path: '', body: {} });
  return [...answer.flatMap((chunk) => writer.next(chunk)), ...writer.end()]
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as JsonObject);
};
const shown = (decode: Wire['decode'], frames: readonly JsonObject[]) => {
  const { text, thinking, calls, finish, error } = readAnswer(decode, frames);
  return { text, thinking, calls: calls.map(({ name, arguments: args }) => ({ name, args })), finish, error };
};

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
/** Names that no API uses. */
const unknownName = fc.stringMatching(/^x_[a-zA-Z0-9_.:-]+$/);
const unknownFields = fc.dictionary(unknownName, json, { minKeys: 1, maxKeys: 3 });
/** An event, a line or a chunk that no API documents. */
const unknownFrame = fc.oneof(
  unknownFields,
  fc.record({ type: unknownName, index: fc.nat(9), delta: fc.record({ message: unknownFields }) }),
);

/** Adds unknown fields to every object of a frame, except to the arguments of calls. */
function withUnknownFields(value: JsonValue, fields: JsonObject): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => withUnknownFields(item, fields));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(([key, inner]) => [
    key,
    key === 'arguments' ? inner : withUnknownFields(inner, fields),
  ]);
  return { ...(Object.fromEntries(entries) as JsonObject), ...fields };
}

describe.each(wires)('unknown things on the wire of $name', ({ decode, dialect, unknownCall, end }) => {
  const frames = framesOf(dialect);
  const expected = shown(decode, frames);

  it('the answer has a text, thinking and two calls', () => {
    expect(expected).toMatchObject({
      text: 'Let me see.',
      thinking: 'Two look-ups.',
      calls: [
        { name: 'add', args: { a: 1 } },
        { name: 'now', args: {} },
      ],
      finish: { reason: 'toolCalls', usage: { input: 3, output: 4 } },
      error: undefined,
    });
  });

  it('unknown frames and fields anywhere change nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(), unknownFrame), { maxLength: 4 }), unknownFields, (inserted, fields) => {
        const all = frames.map((frame) => withUnknownFields(frame, fields) as JsonObject);
        for (const [at, frame] of inserted) all.splice(at % frames.length, 0, frame as JsonObject);
        expect(shown(decode, all)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('an unknown finish reason is `other`, with the raw reason, and hides no call', () => {
    fc.assert(
      fc.property(unknownName, (reason) => {
        const read = shown(decode, [...frames.slice(0, -1).filter((frame) => !hasFinish(frame)), end(reason)]);
        expect(read.calls).toEqual(expected.calls);
        expect(read.finish).toMatchObject({ reason: 'other', rawReason: reason });
      }),
    );
  });

  it('a call of an unknown kind is reported, and the response does not end as if it were complete', () => {
    for (const reason of ['stop', 'COMPLETE', 'tool_calls', 'TOOL_CALL']) {
      const { chunks, error } = readAnswer(decode, [unknownCall, end(reason)]);
      expect(error).toBeUndefined();
      expect(JSON.stringify(chunks.filter(({ type }) => type === 'metadata'))).toContain('"gesture":{"of":"hand"}');
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'other', rawReason: reason });
    }
  });
});

/** Whether a frame ends the response. */
const hasFinish = (frame: JsonObject): boolean => /"(finish|done)_reason":"/.test(JSON.stringify(frame));
