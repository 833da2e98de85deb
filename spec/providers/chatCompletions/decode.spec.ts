import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { delta, read } from './reading.js';

const finish = (reason: string, rest: object = {}) => ({ type: 'finish', reason, ...rest });

describe('decodeChatCompletions', () => {
  it('decodeChatCompletions emits metadata once, just before the first other chunk, and the finish last', () => {
    const { chunks } = read([
      { id: '', model: '', choices: [], prompt_filter_results: [] },
      {
        id: 'a1',
        model: 'm',
        service_tier: 'flex',
        choices: [{ index: 0, delta: { role: 'assistant', content: '' } }],
      },
      { id: 'a1', model: 'm', choices: [{ index: 0, delta: { content: 'Hi' } }] },
      { id: 'a1', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'a1', model: 'm', choices: [], usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 } },
    ]);
    expect(chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'a1', model: 'm', serviceTier: 'flex' } },
      { type: 'text', text: 'Hi' },
      finish('stop', { rawReason: 'stop', usage: { input: 2, output: 1, total: 3 } }),
    ]);
  });

  it('decodeChatCompletions reads only the choice at index 0', () => {
    const choices = [
      { index: 1, delta: { content: 'no' }, finish_reason: 'length' },
      { index: 0, delta: { content: 'yes' } },
    ];
    expect(read([{ choices }, { choices: [{ delta: {}, finish_reason: 'stop' }] }])).toMatchObject({
      text: 'yes',
      finish: { reason: 'stop' },
    });
  });

  it('decodeChatCompletions emits content after the finish reason before the finish', () => {
    const { chunks } = read([delta({ content: 'a' }, 'stop'), delta({ content: 'b' })]);
    expect(chunks.map(({ type }) => type)).toEqual(['text', 'text', 'finish']);
  });

  it('decodeChatCompletions takes the first finish reason that is not empty, and the last usage', () => {
    const usage = (prompt_tokens: number) => ({ prompt_tokens, completion_tokens: 1 });
    const { finish: last } = read([
      delta({}, ''),
      delta({}, 'null'),
      { ...delta({}, 'tool_calls'), usage: usage(4) },
      { ...delta({}, 'stop'), usage: usage(5) },
      { choices: null, usage: null },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    ]);
    expect(last).toEqual(finish('toolCalls', { rawReason: 'tool_calls', usage: { input: 5, output: 1, total: 6 } }));
  });

  it('decodeChatCompletions takes a later finish reason if the response continued after the first', () => {
    expect(read([delta({ content: 'a' }, 'stop'), delta({ content: 'b' }, 'length')]).finish).toEqual(
      finish('length', { rawReason: 'length' }),
    );
    expect(read([delta({ content: 'a' }, 'stop'), delta({ content: '' }, 'length')]).finish).toEqual(
      finish('stop', { rawReason: 'stop' }),
    );
  });

  it('decodeChatCompletions reports how much arrived when the stream ends without a finish reason', () => {
    const {
      error,
      finish: last,
      text,
    } = read([delta({ content: 'Hello' }), delta({ tool_calls: [{ id: 'a', function: { name: 'f' } }] })], false);
    expect(error).toMatchObject({
      code: 'stream_interrupted',
      retryable: true,
      provider: 'server',
      message: expect.stringMatching(/5 characters.*1 fragments/),
    });
    expect(text).toBe('Hello');
    expect(last).toBeUndefined();
  });

  it('decodeChatCompletions finishes as unspecified with [DONE] alone, and normally with a finish reason alone', () => {
    expect(read([delta({ content: 'a' })], true).finish).toEqual(finish('unspecified'));
    expect(read([delta({ content: 'a' }, 'stop')], false).finish).toMatchObject({ reason: 'stop' });
  });

  it('decodeChatCompletions emits the text before an error and in its frame', () => {
    const failed = { ...delta({ content: 'me' }, 'error'), error: { message: 'gone', code: 502 } };
    const { chunks, error } = read([delta({ content: 'Let ' }), failed]);
    expect(error).toMatchObject({ code: 'provider', providerCode: '502' });
    expect(chunks).toEqual([
      { type: 'text', text: 'Let ' },
      { type: 'text', text: 'me' },
    ]);
  });
});

describe('decodeChatCompletions: arbitrary frames', () => {
  // Small values: most of the time would go into generating large ones.
  const few = { maxLength: 3 };
  const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
  const anyObject = (...fields: string[]) =>
    fc.record(Object.fromEntries(fields.map((field) => [field, json])), {
      requiredKeys: [],
    }) as fc.Arbitrary<JsonObject>;
  const call = fc.oneof(json, anyObject('index', 'id', 'name', 'arguments', 'extra_content'), anyObject('function'));
  const fields = fc.record(
    {
      content: fc.oneof(json, fc.array(anyObject('type', 'text', 'thinking', 'image_url', 'refusal'), few)),
      reasoning_details: fc.oneof(
        json,
        fc.array(anyObject('type', 'text', 'summary', 'data', 'index', 'id', 'signature'), few),
      ),
      ...Object.fromEntries(
        ['reasoning', 'reasoning_content', 'refusal', 'function_call', 'images', 'annotations'].map((field) => [
          field,
          json,
        ]),
      ),
      tool_calls: fc.oneof(json, fc.array(call, few)),
    },
    { requiredKeys: [] },
  );
  const choice = fc.record(
    {
      index: json,
      delta: fc.oneof(json, fields),
      message: fc.oneof(json, fields),
      finish_reason: json,
      usage: json,
      text: json,
      error: json,
    },
    { requiredKeys: [] },
  );
  const anyFrame = fc.record(
    {
      choices: fc.oneof(json, fc.array(choice, few)),
      ...Object.fromEntries(
        ['id', 'model', 'usage', 'x_groq', 'error', 'object', 'message', 'detail', 'citations', 'base_resp'].map(
          (name) => [name, json],
        ),
      ),
    },
    { requiredKeys: [] },
  );

  it('decodeChatCompletions either throws a ProviderError or ends with one finish', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 6 }), (frames) => {
        const { error, chunks } = read(frames);
        if (error !== undefined) expect(error).toMatchObject({ code: 'provider' });
        const ends = chunks.flatMap(({ type }, at) => (type === 'finish' ? [at] : []));
        expect(ends).toEqual(error === undefined ? [chunks.length - 1] : []);
        const facts = chunks.filter((chunk) => chunk.type === 'metadata' && !('server' in chunk.metadata));
        expect(facts.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1000 },
    );
  });

  it('decodeChatCompletions emits the same text however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        expect(read(texts.map((content) => delta({ content }))).text).toBe(texts.join(''));
      }),
    );
  });
});
