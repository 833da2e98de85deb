import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeOllama } from '../../../lib/providers/ollama/decode.js';
import { recordings } from '../../support/recordings.js';
import { expectQuirk, expectRecorded, quirksOf, wholeAnswer } from '../wholeAnswer.js';

const line = (message: JsonObject, rest: JsonObject = {}): JsonObject => ({
  model: 'm',
  message: { role: 'assistant', content: '', ...message },
  done: false,
  ...rest,
});
const done = (reason: string | null = 'stop', rest: JsonObject = {}) =>
  line({}, { done: true, done_reason: reason, ...rest });
const read = (...lines: readonly JsonObject[]) => wholeAnswer(decodeOllama, lines);
const called = (name: string, args: JsonObject | string, rest: JsonObject = {}): JsonObject =>
  line({ tool_calls: [{ ...rest, function: { index: 0, name, arguments: args } }] });

describe('decodeOllama', () => {
  it('decodeOllama emits metadata, thinking, text and one finish with usage', () => {
    const { chunks } = read(
      line({ thinking: 'Hm' }),
      line({ content: 'Hi' }),
      done('stop', { prompt_eval_count: 3, eval_count: 2 }),
    );
    expect(chunks).toEqual([
      { type: 'metadata', metadata: { model: 'm' } },
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'stop', rawReason: 'stop', usage: { input: 3, output: 2, total: 5 } },
    ]);
  });

  it('decodeOllama finishes with done alone, as older versions end a response', () => {
    expect(read(line({ content: 'Hi' }), done(null)).finish).toEqual({ type: 'finish', reason: 'unspecified' });
  });

  it('decodeOllama reports an interruption without done, after the content that arrived', () => {
    const { text, error } = read(line({ content: 'Half' }), called('f', { a: 1 }));
    expect(text).toBe('Half');
    expect(error).toMatchObject({ code: 'stream_interrupted', provider: 'ollama' });
  });

  it.each([
    ['a text', 'boom'],
    ['an object', { message: 'boom' }],
  ])('decodeOllama throws the error of a line that has one, as %s', (_, error) => {
    const answer = read(line({ content: 'Half' }), { error });
    expect(answer.text).toBe('Half');
    expect(answer.error).toMatchObject({ code: 'provider', message: expect.stringContaining('boom') as unknown });
  });

  it('decodeOllama emits images as files, with the media type of their first bytes', () => {
    const { chunks } = read(line({ images: ['/9j/4AAQ', 'iVBORw0K', 7] as never }), done());
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/jpeg', data: '/9j/4AAQ' } },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'iVBORw0K' } },
    ]);
  });
});

describe('decodeOllama: calls', () => {
  it('decodeOllama separates equal calls under an index that restarts', () => {
    const { calls, finish } = read(
      called('f', { a: 1 }),
      called('f', { a: 1 }),
      called('now', {}),
      called('now', {}),
      done(),
    );
    expect(calls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['f', { a: 1 }],
      ['f', { a: 1 }],
      ['now', {}],
      ['now', {}],
    ]);
    expect(finish?.reason).toBe('toolCalls');
  });

  it('decodeOllama accepts arguments as JSON text, and stores the id of a call', () => {
    const { calls } = read(called('f', '{"a":1}', { id: 'call_x' }), done());
    expect(calls).toEqual([
      { type: 'toolCall', id: 'call_x', name: 'f', arguments: { a: 1 }, providerData: { ollama: { id: 'call_x' } } },
    ]);
  });

  it('decodeOllama stores the thinking of a message with calls, and no other', () => {
    const { message } = read(line({ thinking: 'Hm, ' }), line({ thinking: 'f.' }), called('f', { a: 1 }), done());
    expect(message?.parts).toContainEqual({
      type: 'provider',
      provider: 'ollama',
      data: { thinking: 'Hm, f.' },
    });
    expect(read(line({ thinking: 'Hm' }), line({ content: 'Hi' }), done()).message).toEqual({
      role: 'model',
      parts: [{ type: 'text', text: 'Hi' }],
    });
  });
});

describe('decodeOllama: arbitrary lines', () => {
  const odd = fc.oneof(fc.jsonValue(), fc.constant(null), fc.constant(''), fc.constant([]));
  const call = fc.oneof(
    odd,
    fc.record(
      { id: odd, function: fc.record({ name: odd, arguments: odd }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    ),
  );
  const message = fc.record(
    { content: odd, thinking: odd, images: odd, tool_calls: fc.oneof(odd, fc.array(call)) },
    { requiredKeys: [] },
  );
  const anyLine = fc.record(
    { model: odd, message: fc.oneof(odd, message), done: odd, done_reason: odd, prompt_eval_count: odd, error: odd },
    { requiredKeys: [] },
  );

  it('decodeOllama ends with one finish or throws a RivuletError', () => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 5 }), (lines) => {
        const { chunks, error } = wholeAnswer(decodeOllama, lines as JsonObject[]);
        if (error === undefined) expect(chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
        else expect(['stream_interrupted', 'provider']).toContain((error as { code?: string }).code);
      }),
    );
  });
});

describe('decodeOllama: recorded streams', () => {
  it.each([...recordings('spec/recordings/ollama'), ...recordings('../shared/recordings/ollama')])(
    'decodeOllama decodes $name completely',
    (recording) => {
      expectRecorded(recording, wholeAnswer(decodeOllama, recording.frames));
    },
  );

  const quirks = quirksOf('ollama');
  if (quirks.length > 0)
    it.each(quirks)('decodeOllama handles $id: $title', (quirk) => expectQuirk(quirk, decodeOllama));
});
