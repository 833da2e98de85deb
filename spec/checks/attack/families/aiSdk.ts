/* eslint-disable @typescript-eslint/prefer-promise-reject-errors -- hostile models do what nobody should */
import assert from 'node:assert/strict';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { isToolResult } from '../../../../lib/core/eventGuards.js';
import { tool } from '../../../../lib/core/tool.js';
import { fromAiSdk } from '../../../../lib/providers/aiSdk/aiSdk.js';
import type { AiSdkModel } from '../../../../lib/providers/aiSdk/aiSdk.js';
import { assertHidden, assertTyped, createRandom, propertiesOf, key } from '../family.js';
import type { Family } from '../family.js';
import { outcome } from '../../../support/outcome.js';

type Fields = Readonly<Record<string, unknown>>;

const metadata = { providerMetadata: { acme: { signature: 's', nested: { list: [1] } } } };
const url = 'https://a.test/';

/** A response with every part of the specification. */
const parts: readonly Fields[] = [
  { type: 'stream-start', warnings: [{ type: 'other', message: 'careful' }] },
  { type: 'response-metadata', id: 'r', modelId: 'm', timestamp: new Date(0) },
  { type: 'reasoning-start', id: 'a', ...metadata },
  { type: 'reasoning-delta', id: 'a', delta: 'Hm.' },
  { type: 'reasoning-end', id: 'a', ...metadata },
  { type: 'text-start', id: 'b', ...metadata },
  { type: 'text-delta', id: 'b', delta: 'Let me look.' },
  { type: 'source', sourceType: 'url', id: 's', url, title: 't', ...metadata },
  { type: 'source', sourceType: 'document', id: 'd', mediaType: 'text/plain', title: 't', filename: 'f' },
  {
    type: 'text-end',
    id: 'b',
    citations: [{ source: { type: 'source', sourceType: 'url', id: 's', url }, citedText: 'x', startIndex: 0 }],
  },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
  { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL(url) } },
  { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
  { type: 'custom', kind: 'acme.thing', ...metadata },
  { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{"q":1}', providerExecuted: true, ...metadata },
  { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: { found: [1] }, providerExecuted: true },
  { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'p' },
  { type: 'tool-input-start', id: 'c', toolName: 'act' },
  { type: 'tool-input-delta', id: 'c', delta: '{"city":' },
  { type: 'tool-input-delta', id: 'c', delta: '"Oslo"}' },
  { type: 'tool-input-end', id: 'c' },
  { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"city":"Oslo"}', ...metadata },
  { type: 'raw', rawValue: { any: 'thing' } },
  { type: 'ping' },
  {
    type: 'finish',
    finishReason: { unified: 'tool-calls', raw: 'tool_use' },
    usage: { inputTokens: { total: 3, noCache: 1, cacheRead: 1, cacheWrite: 1 }, outputTokens: { total: 2 } },
    ...metadata,
  },
];

const fail = (): never => {
  throw new Error('a hostile getter');
};
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const deep = (levels: number): unknown => {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
};

/** What replaces a field of a part, or a part. */
const values: readonly [() => unknown, ...(() => unknown)[]] = [
  () => undefined,
  () => null,
  () => true,
  () => -1,
  () => NaN,
  () => 2n ** 64n,
  () => Symbol('s'),
  () => '',
  () => 'null',
  () => '\ud800',
  () => '__proto__',
  () => 'x'.repeat(100_000),
  () => [],
  () => [null],
  () => ({}),
  () => ({ type: null }),
  () => ({ toString: 1, valueOf: 2, length: -1, then: 3, toJSON: 4 }),
  () => ({ then: fail }),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as unknown,
  () => cyclic,
  () => deep(20_000),
  () => deep(600),
  () => new Map([[1, 2]]),
  () => new Uint8Array(3),
  () => new Error('an error'),
  () => () => 1,
  () => Object.defineProperty({}, 'a', { enumerable: true, get: fail }),
  () => new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail, has: fail, getOwnPropertyDescriptor: fail }),
];

type Random = ReturnType<typeof createRandom>;

/** Replaces a field at any depth of a part, or adds one. */
function mutate(part: unknown, random: Random): unknown {
  if (typeof part !== 'object' || part === null || random.integer(8) === 0) return random.pick(values)();
  if (part instanceof URL || part instanceof Date) return random.pick(values)();
  const fields = Array.isArray(part) ? [...(part as unknown[])] : { ...part };
  const names = Object.keys(fields);
  const name = names[random.integer(names.length)] ?? 'added';
  Reflect.set(fields, name, mutate(Reflect.get(fields, name), random));
  return fields;
}

/** One to three mutations: of a field, of a part, of the order. */
function mutateParts(random: Random): readonly unknown[] {
  const mutated: unknown[] = [...parts];
  for (let times = 1 + random.integer(3); times > 0; times--) {
    const at = random.integer(mutated.length);
    const change = random.integer(6);
    if (change === 0) mutated.splice(at, 1 + random.integer(3));
    else if (change === 1) mutated.splice(random.integer(mutated.length), 0, ...mutated.slice(at, at + 3));
    else if (change === 2) mutated[at] = random.pick(values)();
    else mutated[at] = mutate(mutated[at], random);
  }
  return mutated;
}

/** A model that streams these values. */
const modelOf = (doStream: () => unknown, fields: Fields = {}): AiSdkModel =>
  ({ specificationVersion: 'v4', provider: 'acme', modelId: 'm', doStream, ...fields }) as never;

const streamOf = (emitted: readonly unknown[]) => {
  const left = emitted[Symbol.iterator]();
  return new ReadableStream<unknown>({
    pull(controller) {
      const { done, value } = left.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
};

/** Runs an agent with the model. A tool runs only with the arguments of a call. */
async function run(model: AiSdkModel) {
  const received: unknown[] = [];
  const act = tool({
    name: 'act',
    description: 'Acts.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: (args) => {
      received.push(args);
      return 'done';
    },
  });
  const agent = createAgent({ model: fromAiSdk(model, { retry: false }), tools: [act], maxTurns: 1 });
  const { values: events, error } = await outcome(agent.stream('Go.', { fragments: true }));
  const results = events.filter((event) => isToolResult(event) && event.error === undefined);
  assert.equal(received.length, results.length);
  return { events, error };
}

/** What `doStream` may do instead of returning a stream of parts. */
const calls: Readonly<Record<string, () => unknown>> = {
  'that throws': fail,
  'that throws undefined': () => Promise.reject(undefined),
  'that rejects with a Proxy': () => Promise.reject(values.at(-1)?.()),
  'that returns nothing': () => undefined,
  'that returns a text': () => 'stream',
  'without a stream': () => Promise.resolve({}),
  'whose stream is null': () => Promise.resolve({ stream: null }),
  'whose stream is an array': () => Promise.resolve({ stream: parts }),
  'whose stream is locked': () => {
    const stream = streamOf(parts);
    stream.getReader();
    return Promise.resolve({ stream });
  },
  'whose stream has a getter': () => Promise.resolve(Object.defineProperty({}, 'stream', { get: fail })),
  'whose stream throws': () =>
    Promise.resolve({
      stream: new ReadableStream({
        pull: fail,
      }),
    }),
  'whose stream fails with a Proxy': () =>
    Promise.resolve({ stream: new ReadableStream({ pull: () => Promise.reject(values.at(-1)?.() as never) }) }),
  'whose then calls twice': () => ({
    then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
      resolve({ stream: streamOf(parts) });
      resolve({});
      reject(new Error('late'));
    },
  }),
};

const echo = `Incorrect key: Bearer ${key}, see https://u:${key}@a.test/?key=${key}`;
const callError = (fields: Fields) => Object.assign(new Error(echo), { name: 'AI_APICallError', ...fields });

/** Errors in which a server or a provider of the AI SDK repeats the key. */
const echoes: Readonly<Record<string, () => unknown>> = {
  'an APICallError': () =>
    callError({
      statusCode: 401,
      url: `https://a.test/?key=${key}`,
      requestBodyValues: { headers: { authorization: key } },
      responseHeaders: { 'x-request-id': key },
      responseBody: JSON.stringify({ error: { message: echo, type: key, code: key } }),
      data: { error: { message: echo } },
    }),
  'an APICallError without a status': () => callError({ cause: new Error(echo), url: echo }),
  'an AI_LoadAPIKeyError': () => Object.assign(new Error(echo), { name: 'AI_LoadAPIKeyError' }),
  'an AI_JSONParseError': () => Object.assign(new Error(echo), { name: 'AI_JSONParseError', text: echo }),
  'an Error with a cause': () => new Error(echo, { cause: { headers: { authorization: key } } }),
  'an AggregateError': () => new AggregateError([new Error(echo)], echo),
  'a text': () => echo,
  'an object': () => ({ message: echo, code: key, [key]: key }),
  'an error of another library': () => Object.assign(new Error(echo), { code: key, retryable: true, inner: { key } }),
};

/** Models of the AI SDK that send anything, fail in any way, and repeat the key. */
export const aiSdk: Family = {
  name: 'aiSdk',
  async run(check, { choose }) {
    for (let seed = 0; seed < choose(800, 10_000); seed++)
      await check(`parts, seed ${seed}`, async () => {
        const { error } = await run(
          modelOf(() => Promise.resolve({ stream: streamOf(mutateParts(createRandom(seed))) })),
        );
        if (error !== undefined) assertTyped(error);
      });
    for (const [name, doStream] of Object.entries(calls))
      await check(`doStream ${name}`, async () => {
        const { events, error } = await run(modelOf(doStream));
        if (error === undefined) assert.equal(events.at(-1)?.type, 'result');
        else assertTyped(error);
      });
    for (const [name, makeError] of Object.entries(echoes))
      for (const [place, doStream] of Object.entries({
        'thrown by doStream': () => Promise.reject(makeError() as never),
        'thrown by the stream': () =>
          Promise.resolve({ stream: new ReadableStream({ pull: () => Promise.reject(makeError() as never) }) }),
        'an error part': () =>
          Promise.resolve({ stream: streamOf([...parts.slice(0, 7), { type: 'error', error: makeError() }]) }),
      }))
        await check(`the key in ${name}, ${place}`, async () => {
          const headers = () => ({ authorization: `Bearer ${key}` });
          const { events, error } = await run(modelOf(doStream, { config: { headers } }));
          assert.notEqual(error, undefined, 'the run did not fail');
          assertHidden('the error', propertiesOf(error));
          assertHidden('an event', JSON.stringify(events));
        });
  },
};
