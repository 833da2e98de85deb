import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { anthropic } from '../../../lib/testing/server/dialects/anthropic/anthropic.js';
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

  it('the Messages API of the server refuses more than four cache breakpoints, wherever they are', () => {
    const cache_control = { type: 'ephemeral' };
    const text = { type: 'text', text: 'a', cache_control };
    const four = [{ role: 'user', content: [text, text] }];
    const tools = [{ name: 'f', input_schema: { type: 'object' }, cache_control }];
    expect(refused(four, { tools, system: [text] })).toBeUndefined();
    expect(refused(four, { tools, system: [text], cache_control })).toBe(
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    );
    const result = answered({ content: [text, text] });
    expect(refused([question, made(), result], { tools, system: [text, text] })).toMatch(/Found 5/);
    expect(refused([{ role: 'user', content: [{ ...text, cache_control: { type: 'x' } }] }])).toMatch(/'ephemeral'/);
    expect(refused([question], { cache_control: { ...cache_control, ttl: '2h' } })).toMatch(/'5m' or '1h'/);
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's', cache_control };
    expect(refused([question, { role: 'assistant', content: [thought] }])).toMatch(/Extra inputs/);
  });

  it('the Messages API of the server refuses unknown contents of a result, and deferred tools without another tool', () => {
    const image = (media_type: string) => ({ type: 'image', source: { type: 'base64', media_type, data: 'AAAA' } });
    const refusedContent = (content: JsonObject) => refused([question, made(), answered({ content: [content] })]);
    expect(refusedContent(image('image/png'))).toBeUndefined();
    expect(refusedContent(image('audio/wav'))).toMatch(/valid image/);
    expect(refusedContent({ type: 'audio' })).toMatch(/audio is not allowed/);
    const deferred = { name: 'f', input_schema: { type: 'object' }, defer_loading: true };
    expect(refused([question], { tools: [deferred] })).toMatch(/At least one tool must be non-deferred/);
    expect(refused([question], { tools: [{ ...deferred, defer_loading: 'yes' }] })).toMatch(/valid boolean/);
  });

  it('the Messages API of the server knows the types of the tools, and the toolset of a call', () => {
    const withTool = (tool: JsonObject) => refused([question], { tools: [tool] });
    expect(withTool({ type: 'bash_20250124', name: 'bash' })).toBeUndefined();
    expect(withTool({ type: 'bash_20250124', name: 'shell' })).toBe(
      "tools.0.bash_20250124.name: Input should be 'bash'",
    );
    expect(withTool({ type: 'bash_20250124', name: 'bash', input_schema: { type: 'object' } })).toMatch(/Extra inputs/);
    expect(withTool({ type: 'computer_toolset_20260801', name: 'computer' })).toMatch(/name: Extra inputs/);
    expect(withTool({ type: 'paint_20990101', name: 'paint' })).toMatch(/does not match any of the expected tags/);
    const zoom = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 'zoom', input: {}, toolset_name: 'computer' }],
    };
    expect(refused([question, zoom, answered()])).toMatch(/toolset_name does not match/);
    expect(refused([question, zoom, answered({ content: '1', toolset_name: 'computer' })])).toBeUndefined();
  });

  it('the writer throws for metadata that stands for no block', () => {
    const writer = anthropic.writer({ turn: 1, path: '/v1/messages', body: {} });
    expect(() => writer.next({ type: 'metadata', metadata: { cost: 1 } })).toThrow(/cannot express a "metadata" chunk/);
  });
});
