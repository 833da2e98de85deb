import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { googleInteractions as dialect } from '../../../lib/testing/server/dialects/googleInteractions/googleInteractions.js';

const written = (...chunks: readonly Chunk[]) => {
  const writer = dialect.writer({ turn: 1, path: '/v1beta/interactions', body: { model: 'm' } });
  return [...chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()].map(({ data }) => data);
};
const refusalOf = (fields: JsonObject) =>
  dialect.refusal({ model: 'm', input: 'Hi', store: false, stream: true, ...fields })?.message;
const call = { type: 'function_call', id: 'a', name: 'f', arguments: {} };
const result = { type: 'function_result', call_id: 'a', result: 'x' };

describe('Interactions dialect of the loopback server', () => {
  it('the writer sends a signed thought, a call in fragments, the status and the terminal mark', () => {
    const frames = written(
      { type: 'thinking', text: 'Hm.' },
      { type: 'toolCallFragment', id: 'a', name: 'f', arguments: { city: 'Oslo' }, done: true },
      { type: 'finish', reason: 'toolCalls', usage: { input: 5, output: 7, reasoning: 4 } },
    );
    expect(frames.at(-1)).toBe('[DONE]');
    expect(frames.slice(2, -1).map((data) => JSON.parse(data) as unknown)).toMatchObject([
      { event_type: 'step.start', index: 0, step: { type: 'thought' } },
      { delta: { type: 'thought_summary', content: { type: 'text', text: 'Hm.' } } },
      { delta: { type: 'thought_signature', signature: 'c2lnbmF0dXJl0' } },
      { event_type: 'step.stop', index: 0 },
      { index: 1, step: { type: 'function_call', id: 'a', name: 'f', arguments: {} } },
      { delta: { type: 'arguments_delta', arguments: '{"city":' } },
      { delta: { type: 'arguments_delta', arguments: '"Oslo"}' } },
      { event_type: 'step.stop', index: 1 },
      {
        event_type: 'interaction.completed',
        interaction: {
          status: 'requires_action',
          usage: { total_input_tokens: 5, total_output_tokens: 3, total_thought_tokens: 4, total_tokens: 12 },
        },
      },
    ]);
  });

  it.each<[Chunk]>([[{ type: 'retract' }], [{ type: 'metadata', metadata: {} }]])(
    'the writer throws for %j',
    (chunk) => {
      expect(() => written(chunk)).toThrow(/cannot express a/);
    },
  );

  it.each<[string, JsonObject, RegExp]>([
    ['an unknown field', { contents: [] }, /Unknown name "contents"/],
    ['an unknown setting', { generation_config: { topP: 1 } }, /Unknown name "topP"/],
    ['no model', { model: '' }, /model is required/],
    ['no input', { input: [] }, /input is required/],
    ['a temperature', { generation_config: { temperature: 3 } }, /temperature/],
    ['a tool choice', { generation_config: { tool_choice: 'required' } }, /tool_choice/],
    ['the name of a function', { tools: [{ type: 'function', name: 'a b' }] }, /function name/],
    ['an unknown step', { input: [{ type: 'message' }] }, /input\[0\]\.type/],
    ['an empty step', { input: [{ type: 'user_input', content: [] }] }, /input\[0\]\.content/],
    ['a thought without a signature', { input: [{ type: 'thought' }] }, /missing a signature/],
    ['a call without an id', { input: [{ ...call, id: '' }, result] }, /needs id/],
    ['a result without a call', { input: [result] }, /No function call/],
    ['a result without a value', { input: [call, { type: 'function_result', call_id: 'a' }] }, /input\[1\]\.result/],
    ['a call without a result', { input: [call] }, /no function result/],
  ])('the dialect refuses %s', (_, fields, message) => {
    expect(refusalOf(fields)).toMatch(message);
  });

  it('the dialect accepts a text, steps, and an interaction that is continued', () => {
    expect(refusalOf({})).toBeUndefined();
    expect(refusalOf({ input: [call, result] })).toBeUndefined();
    expect(refusalOf({ input: [], previous_interaction_id: 'v1_a' })).toBeUndefined();
  });
});
