import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { encodeMessages } from '../../../lib/providers/anthropic/messages.js';
import { begin, block, end, read, replayed, serverToolsIn, textBlock, thinkingBlock, toolUse } from './frames.js';

describe('BlockDecoder: tool calls and text', () => {
  it('BlockDecoder completes a call at the end of its block, or, without arguments, when the next block starts', () => {
    const { chunks } = read(
      begin(),
      ...toolUse(0, 'a', 'now'),
      ...toolUse(1, 'b', 'add', '{"x":', '1}'),
      ...end('tool_use'),
    );
    expect(chunks.slice(1, -1)).toEqual([
      { type: 'toolCallFragment', index: 0, id: 'a', name: 'now' },
      { type: 'toolCallFragment', index: 0, done: true },
      { type: 'toolCallFragment', index: 1, id: 'b', name: 'add' },
      { type: 'toolCallFragment', index: 1, arguments: '{"x":' },
      { type: 'toolCallFragment', index: 1, arguments: '1}' },
      { type: 'toolCallFragment', index: 1, done: true },
    ]);
  });

  it('BlockDecoder exposes no call that the token limit truncated, although its block stops', () => {
    const truncated = read(begin(), ...toolUse(0, 'a', 'write', '{"text":"once upon'), ...end('max_tokens'));
    expect(truncated.calls).toEqual([]);
    expect(read(begin(), ...toolUse(0, 'a', 'delete_all'), ...end('max_tokens')).calls).toEqual([]);
    expect(read(begin(), ...toolUse(0, 'a', 'now'), ...end('tool_use')).calls).toMatchObject([
      { name: 'now', arguments: {} },
    ]);
  });

  it('BlockDecoder reads deltas without starts and stops', () => {
    const delta = (index: number, fields: JsonObject) => ({ type: 'content_block_delta', index, delta: fields });
    const { text, thinking } = read(
      begin(),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(1, { type: 'text_delta', text: 'Hi' }),
      ...end(),
    );
    expect([thinking, text]).toEqual(['hm', 'Hi']);
  });

  it('BlockDecoder accepts arguments that are an object', () => {
    const delta = { type: 'input_json_delta', partial_json: { city: 'Oslo' } };
    const { message } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 't', name: 'f', input: {} }, delta),
      ...end('tool_use'),
    );
    expect(message?.parts).toMatchObject([{ type: 'toolCall', id: 't', name: 'f', arguments: { city: 'Oslo' } }]);
  });

  it('BlockDecoder reads arguments in the start of the block', () => {
    const { calls } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } }),
      ...end('tool_use'),
    );
    expect(calls).toEqual([{ type: 'toolCall', id: 'a', name: 'weather', arguments: { city: 'Oslo' } }]);
  });

  it('BlockDecoder passes on arguments without their beginning, which are reported as invalid, not as empty', () => {
    const { calls, finish } = read(
      begin(),
      ...block(
        0,
        { type: 'tool_use', id: 'a', name: 'bash', input: {} },
        { type: 'input_json_delta', partial_json: 'command": "ls"}' },
      ),
      ...end('tool_use'),
    );
    expect(calls).toMatchObject([{ name: 'bash', arguments: { _raw: 'command": "ls"}', _error: 'invalid_json' } }]);
    expect(finish?.reason).toBe('toolCalls');
  });

  it('BlockDecoder keeps blocks apart that all have index 0', () => {
    const { text, calls } = read(
      begin(),
      ...textBlock(0, 'Look.'),
      ...block(
        0,
        { type: 'tool_use', id: 'a', name: 'x', input: {} },
        { type: 'input_json_delta', partial_json: '{"n":1}' },
      ),
      ...block(
        0,
        { type: 'tool_use', id: 'b', name: 'y', input: {} },
        { type: 'input_json_delta', partial_json: '{"n":2}' },
      ),
      ...end('tool_use'),
    );
    expect(text).toBe('Look.');
    expect(calls).toMatchObject([
      { id: 'a', name: 'x', arguments: { n: 1 } },
      { id: 'b', name: 'y', arguments: { n: 2 } },
    ]);
  });

  it('BlockDecoder emits text that arrives in an open call, and the arguments that follow it', () => {
    const { text, calls, message } = read(
      begin(),
      ...block(
        0,
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: '{"n":' },
        { type: 'text_delta', text: 'Just a moment.' },
        { type: 'thinking_delta', thinking: 'Hm.' },
        { type: 'input_json_delta', partial_json: '1}' },
      ),
      ...end('tool_use'),
    );
    expect(text).toBe('Just a moment.');
    expect(calls).toMatchObject([{ id: 'a', name: 'f', arguments: { n: 1 } }]);
    expect(message?.parts).toMatchObject([{ type: 'text', text: 'Just a moment.' }, { type: 'toolCall' }]);
  });

  it('BlockDecoder emits text that arrives in thinking, and thinking that arrives in text', () => {
    const { text, thinking, message } = read(
      begin(),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Which river?' },
        { type: 'text_delta', text: 'The ' },
        { type: 'signature_delta', signature: 'SIG' },
      ),
      ...block(
        1,
        { type: 'text', text: '' },
        { type: 'text_delta', text: 'Loire' },
        { type: 'thinking_delta', thinking: ' Sure.' },
      ),
      ...end(),
    );
    expect([thinking, text]).toEqual(['Which river? Sure.', 'The Loire']);
    expect(replayed(message)).toEqual([
      { type: 'text', text: 'The ' },
      { type: 'thinking', thinking: 'Which river?', signature: 'SIG' },
      { type: 'text', text: 'Loire' },
    ]);
  });

  it('BlockDecoder adds arguments that arrive in a text to the call before it', () => {
    const { calls } = read(
      begin(),
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} } },
      ...block(1, { type: 'text', text: '' }, { type: 'input_json_delta', partial_json: '{"n":1}' }),
      ...end('tool_use'),
    );
    expect(calls).toMatchObject([{ id: 'a', name: 'f', arguments: { n: 1 } }]);
  });
});

describe('BlockDecoder: blocks that are sent back', () => {
  it('BlockDecoder keeps the order of thinking, redacted thinking, text and calls', () => {
    const { message } = read(
      begin(),
      ...thinkingBlock(0, 'first', 'SIG1'),
      ...block(1, { type: 'redacted_thinking', data: 'XYZ' }),
      ...textBlock(2, 'Let me ', 'look.'),
      ...toolUse(3, 'a', 'now', '{}'),
      ...thinkingBlock(4, '', 'SIG2'),
      ...toolUse(5, 'b', 'add', '{"x":1}'),
      ...end('tool_use'),
    );
    expect(replayed(message)).toEqual([
      { type: 'thinking', thinking: 'first', signature: 'SIG1' },
      { type: 'redacted_thinking', data: 'XYZ' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'a', name: 'now', input: {} },
      { type: 'thinking', thinking: '', signature: 'SIG2' },
      { type: 'tool_use', id: 'b', name: 'add', input: { x: 1 } },
    ]);
  });

  it('BlockDecoder keeps the blocks of server tools and citations, and reports them as metadata and sources', () => {
    const found = { type: 'web_search_result', url: 'https://r.example', title: 'Rivers', encrypted_content: 'E' };
    const result = { type: 'web_search_tool_result', tool_use_id: 's1', content: [found] };
    const page = {
      type: 'web_search_result_location',
      url: 'https://r.example',
      title: 'Rivers',
      cited_text: 'The Loire',
      encrypted_index: 'I',
    };
    const cite = { type: 'citations_delta', citation: page };
    const cited = { type: 'text', text: '', citations: [] };
    const { message, chunks, calls } = read(
      begin(),
      ...textBlock(0, 'Searching.'),
      ...block(
        1,
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":"r"}' },
      ),
      ...block(2, result),
      ...textBlock(3, 'It is '),
      ...block(4, cited, cite, cite, { type: 'text_delta', text: 'the Loire' }),
      ...textBlock(5, '.'),
      ...end(),
    );
    const use = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'r' } };
    expect(calls).toEqual([]);
    expect(serverToolsIn(chunks).map(({ raw }) => raw)).toEqual([use, result]);
    expect(chunks.filter(({ type }) => type === 'source')).toEqual([
      { type: 'source', source: { type: 'source', url: 'https://r.example', title: 'Rivers', text: 'The Loire' } },
    ]);
    expect(replayed(message)).toEqual([
      { type: 'text', text: 'Searching.' },
      use,
      result,
      { type: 'text', text: 'It is ' },
      { type: 'text', text: 'the Loire', citations: [page, page] },
      { type: 'text', text: '.' },
    ]);
  });

  it('BlockDecoder keeps the block of a server tool of a paused turn without text', () => {
    const { message, finish } = read(
      begin(),
      ...block(0, { type: 'server_tool_use', id: 's1', name: 'bash', input: { c: 1 } }),
      ...end('pause_turn'),
    );
    expect(finish?.reason).toBe('paused');
    expect(replayed(message)).toEqual([{ type: 'server_tool_use', id: 's1', name: 'bash', input: { c: 1 } }]);
  });

  it('BlockDecoder keeps unknown blocks with their deltas applied', () => {
    const { message } = read(
      begin(),
      ...block(0, { type: 'novelty', content: 'a', n: 1 }, { type: 'novelty_delta', content: 'b' }),
      ...textBlock(1, 'x'),
      ...end(),
    );
    expect(replayed(message)).toEqual([
      { type: 'novelty', content: 'ab', n: 1 },
      { type: 'text', text: 'x' },
    ]);
  });

  it('BlockDecoder keeps the caller of a call that code in the container made', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 's1' };
    const { message } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 'a', name: 'now', input: {}, caller }),
      ...end('tool_use'),
    );
    expect(replayed(message)).toEqual([{ type: 'tool_use', id: 'a', name: 'now', input: {}, caller }]);
  });

  it('BlockDecoder keeps the toolset of a call, which is sent back with the call and with its result', () => {
    const { message } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 'a', name: 'zoom', input: {}, toolset_name: 'computer' }),
      ...end('tool_use'),
    );
    const result = userMessage([{ type: 'toolResult', id: 'a', name: 'zoom', result: 'Done.' }]);
    expect(encodeMessages([...(message ? [message] : []), result]).messages).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'a', name: 'zoom', input: {}, toolset_name: 'computer' }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', toolset_name: 'computer', content: 'Done.' }],
      },
    ]);
  });

  it('BlockDecoder takes the final values of a compaction, and keeps its position', () => {
    const { message } = read(
      begin(),
      ...block(
        0,
        { type: 'compaction', content: null, encrypted_content: null, signature: 'SIG' },
        { type: 'compaction_delta', content: 'We spoke of rivers.', encrypted_content: 'E1' },
      ),
      ...textBlock(1, 'Go on.'),
      ...end(),
    );
    expect(replayed(message)).toEqual([
      { type: 'compaction', content: 'We spoke of rivers.', encrypted_content: 'E1', signature: 'SIG' },
      { type: 'text', text: 'Go on.' },
    ]);
  });

  it('BlockDecoder does not add the estimates of a thinking delta to the thinking', () => {
    const { message } = read(
      begin(),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm', estimated_tokens: 64 },
        { type: 'signature_delta', signature: 'SIG' },
      ),
      ...textBlock(1, 'x'),
      ...end(),
    );
    expect(replayed(message)).toEqual([
      { type: 'thinking', thinking: 'Hm', signature: 'SIG' },
      { type: 'text', text: 'x' },
    ]);
  });

  it('BlockDecoder emits the text of an unknown block, and sends back the block instead of the text', () => {
    const { message, text } = read(
      begin(),
      ...textBlock(0, 'First. '),
      ...block(
        1,
        { type: 'connector_text', text: '', signature: 's' },
        { type: 'text_delta', text: 'Second' },
        { type: 'text_delta', text: '.' },
      ),
      ...textBlock(2, ' Third.'),
      ...end(),
    );
    expect(text).toBe('First. Second. Third.');
    expect(replayed(message)).toEqual([
      { type: 'text', text: 'First. ' },
      { type: 'connector_text', text: 'Second.', signature: 's' },
      { type: 'text', text: ' Third.' },
    ]);
  });

  it('BlockDecoder reports a delta of an unknown kind', () => {
    const { chunks, text } = read(
      begin(),
      ...block(0, { type: 'text', text: '' }, { type: 'mood_delta', mood: 'calm' }, { type: 'text_delta', text: 'Hi' }),
      { type: 'content_block_delta', index: 7, delta: { type: 'mood_delta', mood: 'glad' } },
      ...end(),
    );
    expect(text).toBe('Hi');
    expect(chunks.filter(({ type }) => type === 'metadata').slice(1)).toEqual(
      ['calm', 'glad'].map((mood) => ({
        type: 'metadata',
        metadata: { unknown: { type: 'mood_delta', mood } },
      })),
    );
  });
});
