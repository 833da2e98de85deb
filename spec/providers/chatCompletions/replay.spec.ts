import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isJsonObject } from '../../../lib/core/json/json.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { modelMessage } from '../../../lib/core/message.js';
import { compatible } from '../../../lib/providers/chatCompletions/compatible.js';
import { decodeChatCompletions } from '../../../lib/providers/chatCompletions/decode.js';
import { replay } from '../../../lib/providers/chatCompletions/replay.js';
import { encodeMessage } from '../../../lib/providers/chatCompletions/messages.js';
import { delta, frame, read } from './reading.js';

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const part = fc.oneof(
  json,
  fc.record({
    type: fc.constantFrom('thinking', 'text', 'reference', 'tool_reference', 'file'),
    thinking: json,
    text: json,
    reference_ids: json,
  }),
  fc.record({
    type: fc.constantFrom('reasoning.text', 'reasoning.encrypted'),
    index: fc.option(fc.nat(2)),
    text: json,
    data: json,
    signature: json,
    id: json,
  }),
) as fc.Arbitrary<JsonValue>;
const anyDelta = fc.record(
  {
    content: fc.oneof(json, fc.array(part)),
    reasoning_details: fc.oneof(json, fc.array(part)),
    annotations: fc.array(part),
    images: json,
  },
  { requiredKeys: [] },
);

describe('replay', () => {
  it('ReplayCollector reads frames of any shape, and its data can be sent back', () => {
    fc.assert(
      fc.property(fc.array(anyDelta), (deltas) => {
        const { chunks, text, error } = read(
          deltas.map((fields) => delta(fields as JsonObject)),
          true,
          'server',
        );
        expect(error).toBeUndefined();
        const parts = chunks.filter((chunk) => chunk.type === 'provider');
        const answer = { type: 'text', text: text === '' ? '.' : text } as const;
        const [message] = encodeMessage(modelMessage([...parts, answer]), { ...compatible, provider: 'server' });
        expect(message).toMatchObject({ role: 'assistant' });
      }),
    );
  });

  it('ReplayCollector keeps a file once that the deltas and the message after them contain', () => {
    const file = (hash: string) => ({
      type: 'file',
      file: { hash, content: [{ type: 'text', text: 'A parsed page.' }] },
    });
    const { chunks } = read(
      [delta({ content: 'Hi', annotations: [file('a')] }), delta({ annotations: [file('a'), file('b')] }, 'stop')],
      true,
      'server',
    );
    expect(chunks).toContainEqual({
      type: 'provider',
      provider: 'server',
      data: { annotations: [file('a'), file('b')] },
    });
  });

  it('replay.fields accepts stored data of any shape and keeps the complete text', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.array(part), (text, list) => {
        const parts = list
          .filter(isJsonObject)
          .map((data) => ({ type: 'provider', provider: 'server', data }) as const);
        const message = modelMessage([...parts, { type: 'text', text }, ...parts]);
        const { content } = replay.fields(message, 'server') as { readonly content: string | readonly JsonObject[] };
        const texts =
          typeof content === 'string'
            ? content
            : content.flatMap((one) => (one['type'] === 'text' ? [one['text'] as string] : [])).join('');
        expect(texts).toContain(text);
      }),
    );
  });

  it('a dialect without `replay` stores nothing and sends nothing back', () => {
    const types: string[] = [];
    const decoder = decodeChatCompletions({ provider: 'openai-chat' }, ({ type }) => types.push(type));
    decoder.next(delta({ reasoning_content: 'Hm', content: '4' }));
    decoder.next(frame({ message: { reasoning_content: 'Hm', content: '42' }, finish_reason: 'stop' }));
    decoder.end(true);
    expect(types).toEqual(['thinking', 'text', 'text', 'finish']);
    const stored = modelMessage([
      { type: 'text', text: '42' },
      { type: 'provider', provider: 'openai-chat', data: { reasoning_content: 'Hm' } },
    ]);
    expect(encodeMessage(stored, { provider: 'openai-chat' })).toEqual([{ role: 'assistant', content: '42' }]);
  });

  it('ReplayCollector stores reasoning only with a message that has calls; a signature is stored with its call', () => {
    const extra = { google: { thought_signature: 'sig' } };
    const call = { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: extra }] };
    const { chunks } = read(
      [delta({ reasoning_content: 'Hm, ' }), delta({ reasoning_content: 'yes' }), delta(call, 'tool_calls')],
      true,
      'deep',
    );
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: 'toolCallFragment', providerData: { deep: { extra_content: extra } } }),
    );
    const alone = { tool_calls: [{ extra_content: extra }] };
    expect(read([delta(alone)], true, 'deep').chunks).toContainEqual({
      type: 'toolCallFragment',
      providerData: { deep: { extra_content: extra } },
    });
    expect(chunks.at(-2)).toEqual({ type: 'provider', provider: 'deep', data: { reasoning_content: 'Hm, yes' } });
    expect(
      read([delta({ reasoning_content: 'Hm' }), delta({ content: 'Hi' }, 'stop')]).chunks.map(({ type }) => type),
    ).not.toContain('provider');
  });

  it('ReplayCollector joins the fragments of signed reasoning for the next request', () => {
    const fragment = (fields: JsonObject) =>
      delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] });
    const { chunks } = read([
      fragment({ text: 'We ' }),
      fragment({ text: 'add.', signature: null }),
      fragment({ text: '', signature: 'sig' }),
      delta({
        reasoning_details: [
          { type: 'reasoning.encrypted', index: 1, data: 'x' },
          { type: 'reasoning.encrypted', index: 1, data: 'y' },
        ],
      }),
    ]);
    expect(chunks.find(({ type }) => type === 'provider')).toMatchObject({
      data: {
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'We add.', signature: 'sig' },
          { type: 'reasoning.encrypted', index: 1, data: 'x' },
          { type: 'reasoning.encrypted', index: 1, data: 'y' },
        ],
      },
    });
  });
});
