import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeInteraction } from '../../../lib/providers/googleInteractions/decode.js';
import { encodeInteraction } from '../../../lib/providers/googleInteractions/encode.js';
import { wholeAnswer } from '../wholeAnswer.js';

const start = (index: number, step: JsonObject): JsonObject => ({ event_type: 'step.start', index, step });
const delta = (index: number, fields: JsonObject): JsonObject => ({ event_type: 'step.delta', index, delta: fields });
const stop = (index: number): JsonObject => ({ event_type: 'step.stop', index });
const created: JsonObject = {
  event_type: 'interaction.created',
  interaction: { id: 'v1_a', status: 'in_progress', model: 'gemini-x' },
};
const completed = (status = 'completed', fields: JsonObject = {}): JsonObject => ({
  event_type: 'interaction.completed',
  interaction: { id: 'v1_a', status, model: 'gemini-x', ...fields },
});
const read = (...frames: readonly JsonObject[]) => wholeAnswer(decodeInteraction, frames);
const text = (index: number, value: string) => [
  start(index, { type: 'model_output' }),
  delta(index, { type: 'text', text: value }),
  stop(index),
];
const thought = (index: number) => [
  start(index, { type: 'thought' }),
  delta(index, { type: 'thought_summary', content: { type: 'text', text: 'Hm.' } }),
  delta(index, { type: 'thought_signature', signature: 'c2ln' }),
  stop(index),
];
const search = (index: number) => [
  start(index, { type: 'google_search_call', id: 's1', arguments: {} }),
  delta(index, { type: 'google_search_call', arguments: { queries: ['Oslo'] }, signature: 'YQ' }),
  stop(index),
  start(index + 1, { type: 'google_search_result', call_id: 's1', result: [] }),
  delta(index + 1, { type: 'google_search_result', result: [{ search_suggestions: 'x' }], signature: 'Yg' }),
  stop(index + 1),
];

describe('decodeInteraction', () => {
  it('decodeInteraction reads text, thinking, metadata and usage', () => {
    const usage = {
      total_tokens: 30,
      total_input_tokens: 10,
      total_cached_tokens: 4,
      total_output_tokens: 12,
      total_thought_tokens: 5,
      total_tool_use_tokens: 3,
    };
    const { chunks, thinking, finish } = read(
      created,
      ...thought(0),
      ...text(1, 'Hi'),
      completed('completed', { usage }),
    );
    expect(chunks[0]).toEqual({ type: 'metadata', metadata: { responseId: 'v1_a', model: 'gemini-x' } });
    expect(thinking).toBe('Hm.');
    expect(finish).toEqual({
      type: 'finish',
      reason: 'stop',
      rawReason: 'completed',
      usage: { input: 13, output: 17, total: 30, cachedInput: 4, reasoning: 5 },
    });
  });

  it('decodeInteraction joins fragments of parallel calls that are interleaved', () => {
    const { calls, finish } = read(
      start(0, { type: 'function_call', id: 'a', name: 'f', arguments: {} }),
      start(1, { type: 'function_call', id: 'b', name: 'g', arguments: { whole: true } }),
      delta(0, { type: 'arguments_delta', arguments: '{"x"' }),
      stop(1),
      delta(0, { type: 'arguments_delta', arguments: ':1}' }),
      stop(0),
      start(2, { type: 'function_call', id: 'c', name: 'h', arguments: {} }),
      stop(2),
      completed('requires_action'),
    );
    expect(calls.map(({ id, name, arguments: args }) => [id, name, args])).toEqual([
      ['a', 'f', { x: 1 }],
      ['b', 'g', { whole: true }],
      ['c', 'h', {}],
    ]);
    expect(finish).toMatchObject({ reason: 'toolCalls', rawReason: 'requires_action' });
  });

  it('decodeInteraction reports the tools of Google, and its steps are sent back where they were', () => {
    const { chunks, message } = read(...thought(0), ...search(1), ...text(3, 'Cold.'), completed());
    const tools = chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata['serverTools']] : []));
    expect(tools.at(-1)).toMatchObject([{ id: 's1', name: 'google_search', status: 'completed' }]);
    const { body } = encodeInteraction('m', { messages: [userMessage('Hi'), ...(message ? [message] : [])] });
    expect((body['input'] as readonly JsonObject[]).slice(1)).toEqual([
      { type: 'thought', summary: [{ type: 'text', text: 'Hm.' }], signature: 'c2ln' },
      { type: 'google_search_call', id: 's1', arguments: { queries: ['Oslo'] }, signature: 'YQ' },
      { type: 'google_search_result', call_id: 's1', result: [{ search_suggestions: 'x' }], signature: 'Yg' },
      { type: 'model_output', content: [{ type: 'text', text: 'Cold.' }] },
    ]);
  });

  it('decodeInteraction reads files, and annotations as sources', () => {
    const { chunks } = read(
      start(0, { type: 'model_output' }),
      delta(0, { type: 'image', data: 'AQ==', mime_type: 'image/jpeg' }),
      delta(0, {
        type: 'text_annotation_delta',
        annotations: [{ type: 'url_citation', url: 'https://a.example', title: 'A' }, { type: 'word_info' }],
      }),
      stop(0),
      completed(),
    );
    expect(chunks.slice(0, 2)).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/jpeg', data: 'AQ==' } },
      { type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A' } },
    ]);
  });

  it.each([
    ['completed', 'stop'],
    ['requires_action', 'toolCalls'],
    ['incomplete', 'length'],
    ['budget_exceeded', 'length'],
    ['failed', 'error'],
    ['cancelled', 'error'],
    ['a_new_status', 'other'],
  ])('decodeInteraction finishes a response of the status %s with %s', (status, reason) => {
    expect(read(...text(0, 'Hi'), completed(status)).finish).toMatchObject({ reason, rawReason: status });
  });

  it('decodeInteraction keeps the token of a response that can be continued', () => {
    const { finish, message } = read(
      ...text(0, 'Half'),
      completed('requires_continuation', { continuation_token: 't' }),
    );
    expect(finish).toMatchObject({ reason: 'paused' });
    expect(message?.parts).toEqual([
      { type: 'text', text: 'Half' },
      { type: 'provider', provider: 'google-interactions', data: { continuationToken: 't' } },
    ]);
  });
});

describe('decodeInteraction: malformed streams', () => {
  it('decodeInteraction reports an error event with its code, after the text', () => {
    const error = { code: 'resource_exhausted', message: 'Slow down.' };
    const answer = read(...text(0, 'Hi'), { event_type: 'error', error });
    expect(answer.text).toBe('Hi');
    expect(answer.finish).toBeUndefined();
    expect(answer.error).toMatchObject({ code: 'provider', providerCode: 'resource_exhausted', retryable: true });
    expect(read({ error: { code: 500, message: 'Broken.' } }).error).toMatchObject({ code: 'provider' });
    expect(read({ event_type: 'error' }).error).toMatchObject({ code: 'provider' });
  });

  it('decodeInteraction reports a response that ends without a status', () => {
    const answer = read(created, start(0, { type: 'function_call', id: 'a', name: 'f' }));
    expect(answer.error).toMatchObject({ code: 'stream_interrupted' });
    expect(answer.calls).toEqual([]);
  });

  it('decodeInteraction does not complete a call whose arguments were cut by the limit', () => {
    const { calls, finish } = read(
      start(0, { type: 'function_call', id: 'a', name: 'f', arguments: {} }),
      delta(0, { type: 'arguments_delta', arguments: '{"x' }),
      stop(0),
      completed('incomplete'),
    );
    expect(calls).toEqual([]);
    expect(finish).toMatchObject({ reason: 'length' });
  });

  it('decodeInteraction reads deltas without a start, and ignores unknown events and fields of other types', () => {
    const { text: read1, error } = read(
      { event_type: 'interaction.created', interaction: null },
      { event_type: 'step.start', index: 0, step: 'x' },
      { event_type: 'step.new', index: 0 },
      { event_type: 'step.delta', index: 0, delta: null },
      delta(0, { type: 'text', text: 'Hi' }),
      delta(0, { type: 'thought_signature', signature: 'x' }),
      delta(0, { type: 'thought_summary', content: 5 }),
      delta(0, { type: 'text_annotation_delta', annotations: 'x' }),
      stop(9),
      completed(),
    );
    expect(error).toBeUndefined();
    expect(read1).toBe('Hi');
  });

  it('decodeInteraction reports content and steps of unknown types as metadata', () => {
    const { chunks } = read(start(0, { type: 'dream' }), delta(0, { type: 'hologram' }), stop(0), completed());
    const unknown = chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata['unknown']] : []));
    expect(unknown.filter(Boolean)).toEqual([{ type: 'hologram' }, { type: 'dream' }]);
  });
});
