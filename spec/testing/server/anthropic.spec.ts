import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { refusalOf } from '../../../lib/testing/server/dialects/anthropic/request.js';

const question: JsonObject = { role: 'user', content: 'Name a river.' };
const made = (...before: readonly JsonObject[]): JsonObject => ({
  role: 'assistant',
  content: [...before, { type: 'tool_use', id: 'a', name: 'f', input: {} }],
});
const answered = (fields: JsonObject = { content: '1' }): JsonObject => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'a', ...fields }],
});
const refused = (messages: readonly JsonObject[], fields: JsonObject = {}) =>
  refusalOf({ model: 'claude-x', max_tokens: 4096, stream: true, messages, ...fields })?.message;

describe('anthropic dialect of the loopback server', () => {
  it('the Messages API of the server refuses an empty tool error but accepts an empty result', () => {
    const with_ = (fields: JsonObject) => refused([question, made(), answered(fields)]);
    expect(with_({ is_error: true })).toMatch(/content cannot be empty if `is_error` is true/);
    expect(with_({ is_error: true, content: '' })).toMatch(/content cannot be empty/);
    expect(with_({ is_error: true, content: 'Broken.' })).toBeUndefined();
    expect(with_({})).toBeUndefined();
  });

  it('the Messages API of the server refuses thinking after tool results if the turn did not begin with thinking', () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 1024 } };
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
    expect(refused([question, made(), answered()], thinking)).toMatch(/must start with a thinking block/);
    expect(refused([question, made(thought), answered()], thinking)).toBeUndefined();
    expect(refused([question, made(thought), answered(), made(), answered()], thinking)).toBeUndefined();
    expect(refused([question, made(), answered()], { thinking: { type: 'adaptive' } })).toBeUndefined();
    expect(
      refused([question, made(), answered(), { role: 'assistant', content: 'Loire' }, question], thinking),
    ).toBeUndefined();
  });
});
