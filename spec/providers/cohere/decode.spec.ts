import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RivuletError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeCohere } from '../../../lib/providers/cohere/decode.js';
import { itReadsRecordings, readAnswer } from '../../support/recordedAnswers.js';

itReadsRecordings('cohere', decodeCohere);

const read = (...frames: readonly JsonObject[]) => readAnswer(decodeCohere, frames);
const begin = { type: 'message-start', id: 'co-1', delta: { message: { role: 'assistant', content: [] } } };
const event = (type: string, message: JsonObject, index = 0): JsonObject => ({ type, index, delta: { message } });
const content = (fields: JsonObject) => event('content-delta', { content: fields });
const end = (finish_reason: string, more: JsonObject = {}): JsonObject => ({
  type: 'message-end',
  delta: { finish_reason, ...more },
});

describe('decodeCohere', () => {
  it('decodeCohere emits the response id before the first chunk, and nothing before an error', () => {
    expect(read(begin, content({ text: 'Hi' }), end('COMPLETE')).chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'co-1' } },
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'stop', rawReason: 'COMPLETE' },
    ]);
    const failed = read(begin, end('ERROR', { error: 'down' }));
    expect(failed.chunks).toEqual([]);
    expect(failed.error).toMatchObject({
      code: 'provider',
      retryable: true,
      message: expect.stringContaining('down') as unknown,
    });
  });

  it('decodeCohere reports an interruption without message-end', () => {
    expect(read(begin, content({ text: 'a' })).error).toMatchObject({ code: 'stream_interrupted', provider: 'cohere' });
  });

  it('decodeCohere reports a frame that is an error', () => {
    expect(read({ message: 'no such model' }).error).toMatchObject({ code: 'provider', retryable: false });
  });

  it('decodeCohere stores the plan and the thinking with the calls, and does not emit the plan', () => {
    const call = (type: string, toolCalls: JsonObject) => event(type, { tool_calls: toolCalls });
    const { message, text } = read(
      begin,
      event('tool-plan-delta', { tool_plan: 'I will ' }),
      event('tool-plan-delta', { tool_plan: 'look.' }),
      content({ thinking: 'hm' }),
      call('tool-call-start', { id: 'a', function: { name: 'now', arguments: '' } }),
      { type: 'tool-call-end', index: 0 },
      end('TOOL_CALL'),
    );
    expect(text).toBe('');
    expect(message).toEqual({
      role: 'model',
      parts: [
        { type: 'provider', provider: 'cohere', data: { tool_plan: 'I will look.', thinking: 'hm' } },
        { type: 'toolCall', id: 'a', name: 'now', arguments: {} },
      ],
    });
  });

  it('decodeCohere exposes no call that the token limit cut off', () => {
    const cut = read(
      begin,
      event('tool-call-start', { tool_calls: { id: 'a', function: { name: 'write', arguments: '' } } }),
      event('tool-call-delta', { tool_calls: { function: { arguments: '{"text":"on' } } }),
      { type: 'tool-call-end', index: 0 },
      end('MAX_TOKENS'),
    );
    expect(cut.calls).toEqual([]);
  });

  it('decodeCohere reports events and contents of unknown types as metadata', () => {
    const unknownEvent = { type: 'artifact-start', index: 0, delta: { message: { artifact: 'a' } } };
    const picture = { type: 'picture', data: 'AA==' };
    const all = read(
      begin,
      unknownEvent,
      event('content-start', { content: picture }),
      event('content-delta', { content: { text: 'Hi' } }),
      end('SOMETHING_NEW'),
    );
    expect(all.chunks.filter(({ type }) => type === 'metadata').slice(-2)).toEqual([
      { type: 'metadata', metadata: { unknown: unknownEvent } },
      { type: 'metadata', metadata: { unknown: picture } },
    ]);
    expect(all.text).toBe('Hi');
    expect(all.finish).toMatchObject({ reason: 'other', rawReason: 'SOMETHING_NEW' });
  });

  it('decodeCohere emits chunks or throws a RivuletError for any frames', () => {
    const json = fc.jsonValue({ maxDepth: 2 });
    const message = fc.record(
      { content: json, tool_plan: json, tool_calls: json, citations: json },
      { requiredKeys: [] },
    );
    const delta = fc.record(
      { message: fc.oneof(message, json), finish_reason: json, usage: json, error: json },
      { requiredKeys: [] },
    );
    const type = fc.constantFrom(
      ...[
        'message-start',
        'content-start',
        'content-delta',
        'tool-plan-delta',
        'tool-call-start',
        'tool-call-delta',
        'tool-call-end',
      ],
      ...['citation-start', 'message-end', 'toString', 'new'],
    );
    const frame = fc.record({ type, index: json, id: json, delta: fc.oneof(delta, json) }, { requiredKeys: ['type'] });
    fc.assert(
      fc.property(fc.array(fc.oneof(frame, fc.dictionary(fc.string(), json)), { maxLength: 10 }), (frames) => {
        const { error } = readAnswer(decodeCohere, frames as unknown as readonly JsonObject[]);
        if (error !== undefined) expect(error).toBeInstanceOf(RivuletError);
      }),
      { numRuns: 500 },
    );
  });
});

describe('decodeCohere: frames without a type', () => {
  const text = event('content-delta', { content: { text: 'a' } });

  it('decodeCohere ignores a frame without a type whose message is not a text', () => {
    const { chunks, error } = readAnswer(decodeCohere, [{ message: { role: 'assistant' } }, text, end('COMPLETE')]);
    expect(error).toBeUndefined();
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
  });

  it('decodeCohere reports a frame without a type whose message is a text as an error', () => {
    expect(readAnswer(decodeCohere, [{ message: 'overloaded' }]).error).toMatchObject({ code: 'provider' });
  });
});

describe('decodeCohere: calls in the first event', () => {
  it('decodeCohere reads several calls in the first event', () => {
    const calls = ['a', 'b'].map((id) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: `{"of":"${id}"}` },
    }));
    const { message } = read(
      { ...event('message-start', { role: 'assistant', tool_calls: calls }), id: 'co-1' },
      end('TOOL_CALL'),
    );
    expect(message?.parts).toMatchObject([
      { type: 'toolCall', id: 'a', arguments: { of: 'a' } },
      { type: 'toolCall', id: 'b', arguments: { of: 'b' } },
    ]);
  });
});
