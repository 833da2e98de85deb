import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nonEmptyString } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeResponses } from '../../../lib/providers/openaiResponses/decode.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { recordings } from '../chatCompletions/reading.js';
import type { Recording } from '../chatCompletions/reading.js';
import { read } from './reading.js';

const words: Record<string, string> = { 'tool-calls': 'toolCalls', 'content-filter': 'contentFilter' };

async function check({ frames, expected }: Recording) {
  const { text, thinking, calls, finish, error } = await read(frames);
  expect(text).toBe(expected.text);
  expect(thinking).toBe(expected.reasoning ?? '');
  expect(calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))).toEqual(expected.toolCalls);
  if (expected.error) {
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining(expected.error.message ?? '') as unknown,
    });
    return;
  }
  expect(error).toBeUndefined();
  const reasons = [expected.finishReason, ...(expected.finishReasonAlsoAccepted ?? [])].map(
    (word) => words[word] ?? word,
  );
  expect(reasons).toContain(finish?.reason);
  const { input, output, reasoning, cacheRead } = expected.usage ?? {};
  expect(finish?.usage).toMatchObject({
    input,
    output,
    ...(reasoning ? { reasoning } : {}),
    ...(cacheRead ? { cachedInput: cacheRead } : {}),
  });
}

const ours = recordings('spec/recordings/openai-responses');
const theirs = recordings('../shared/recordings/openai-responses');
const named = (name: string): readonly JsonObject[] => {
  const found = ours.find((one) => one.name.endsWith(`/${name}`));
  if (!found) throw new Error(`There is no recording ${name}.`);
  return found.frames;
};
const final = (frames: readonly JsonObject[]) => frames.at(-1)?.['response'] as JsonObject;
const isDelta = ({ type }: JsonObject) => typeof type === 'string' && type.endsWith('.delta');

describe('openai-responses: recorded streams', () => {
  it.each(ours)('$name comes out whole', check);
  if (theirs.length > 0) it.each(theirs)('$name comes out whole', check);

  it.each([...ours, ...theirs])(
    '$name comes out the same without its deltas, and without anything but its last event',
    async ({ frames }) => {
      const whole = await read(frames);
      const last = frames.at(-1);
      const told = await read(frames.filter((frame) => !isDelta(frame)));
      const short = last?.['type'] === 'response.failed' ? told : await read(last ? [last] : []);
      const what = ({ text, thinking, calls, finish }: typeof whole) => ({ text, thinking, calls, finish });
      if (last?.['type'] === 'response.failed') expect(told.error).toEqual(whole.error);
      else expect([what(told), what(short)]).toEqual([what(whole), what(whole)]);
    },
  );

  const complete = [...ours, ...theirs].filter(({ frames }) => frames.at(-1)?.['type'] === 'response.completed');
  it.each(complete)('$name goes back as the items that came, in their order', async ({ frames, expected }) => {
    const { message, calls } = await read(frames);
    const results = calls.map(({ id, name }) => ({ type: 'toolResult', id, name, result: 'ok' }) as const);
    const after = results.length > 0 ? userMessage(results) : userMessage('Go on.');
    const history = [userMessage('Hi'), ...(message ? [message] : []), after];
    const { body } = encodeResponses('gpt-5', { messages: history }, { session: false });
    const items = (body['input'] as readonly JsonObject[]).filter(
      ({ type, role }) => role !== 'user' && type !== 'function_call_output',
    );
    const output = final(frames)['output'] as readonly JsonObject[];
    expect(items.map(({ id, type }) => [id, type])).toEqual(output.map(({ id, type }) => [id, type]));
    const texts = items.flatMap(({ content }) => (content as readonly JsonObject[] | undefined) ?? []);
    expect(texts.flatMap(({ text, refusal }) => nonEmptyString(text) ?? nonEmptyString(refusal) ?? []).join('')).toBe(
      expected.text,
    );
    const repeated = items.filter(({ type }) => type !== 'message' && type !== 'function_call');
    expect(repeated).toEqual(output.filter(({ type }) => type !== 'message' && type !== 'function_call'));
  });

  it('cites a page once, however often it is cited, and tells each search once', async () => {
    const { chunks } = await read(named('web-search-citations'));
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source.url] : []))).toEqual([
      'https://rivers.example/loire',
      'https://hills.example/',
    ]);
    const told = chunks
      .flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata['openai-responses']] : []))
      .filter(Boolean);
    expect(told).toMatchObject([
      { id: 'ws_b2', status: 'in_progress' },
      { id: 'ws_b2', status: 'searching' },
      { id: 'ws_b2', status: 'completed', action: { type: 'search' } },
      { id: 'ws_b3', status: 'in_progress' },
      { id: 'ws_b3', status: 'searching' },
      { id: 'ws_b3', status: 'completed', action: { type: 'open_page' } },
    ]);
  });
});

describe('openai-responses: whatever a server sends', () => {
  const types = [
    ...[
      'created',
      'completed',
      'incomplete',
      'failed',
      'output_item.added',
      'output_item.done',
      'content_part.done',
      'output_text.delta',
    ],
    ...[
      'output_text.done',
      'refusal.done',
      'reasoning_summary_text.delta',
      'reasoning_summary_part.done',
      'function_call_arguments.delta',
    ],
    ...[
      'function_call_arguments.done',
      'output_text.annotation.added',
      'image_generation_call.partial_image',
      'mcp_call.completed',
    ],
  ].map((type) => `response.${type}`);
  const fields = [
    ...[
      'type',
      'item',
      'item_id',
      'output_index',
      'content_index',
      'delta',
      'text',
      'arguments',
      'part',
      'response',
      'output',
      'id',
      'call_id',
    ],
    ...[
      'name',
      'content',
      'summary',
      'annotations',
      'annotation',
      'result',
      'outputs',
      'url',
      'status',
      'error',
      'usage',
      'input_tokens',
      'toString',
      'object',
    ],
  ];
  const kinds = fc.constantFrom(
    'message',
    'reasoning',
    'function_call',
    'image_generation_call',
    'web_search_call',
    'output_text',
    'summary_text',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, 0, 1, '', 'x', '{"a":1}', true),
      kinds,
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
    object: fc.dictionary(fc.constantFrom(...fields), tie('value'), { maxKeys: 6 }),
  }));
  const frame = fc
    .record({ type: fc.constantFrom(...types, 'error', 'x') })
    .chain(({ type }) =>
      fc
        .dictionary(fc.constantFrom(...fields), value, { maxKeys: 8 })
        .map((rest) => JSON.parse(JSON.stringify({ ...rest, type })) as JsonObject),
    );

  it('is read or refused with an error of ours', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 12 }), fc.boolean(), (frames, terminal) => {
        let finishes = 0;
        const decoder = decodeResponses((chunk) => {
          if (chunk.type === 'finish') finishes += 1;
        });
        try {
          const over = frames.some((one) => decoder.next(one) === 'end');
          decoder.end(over || terminal);
          expect(finishes).toBe(1);
        } catch (error) {
          if (!(error instanceof Error) || !('code' in error)) throw error;
          expect(['provider', 'stream_interrupted']).toContain(error.code);
          expect(finishes).toBe(0);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('comes out the same whatever the output indices say, as long as items have ids', async () => {
    const frames = named('reasoning-parallel-tools');
    const { text, thinking, calls } = await read(frames);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: frames.length, maxLength: frames.length }),
        async (indices) => {
          const mixed = frames.map((one, at) =>
            'output_index' in one ? { ...one, output_index: indices[at] ?? 0 } : one,
          );
          const got = await read(mixed);
          expect([got.text, got.thinking, got.calls]).toEqual([text, thinking, calls]);
        },
      ),
      { numRuns: 50 },
    );
  });
});
