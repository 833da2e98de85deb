import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { keepRecent } from '../../../lib/core/keepRecent.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { consolidate } from '../../../lib/operators/consolidate.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeMessages } from '../../../lib/providers/anthropic/messages.js';
import { refusalOf } from '../../../lib/testing/server/dialects/anthropic/request.js';
import { answering } from '../answering.js';

const question = userMessage('Which river is long?');
const next = userMessage('Go on.');
const thinking: JsonObject = { type: 'thinking', thinking: 'Hm', signature: 's' };
const redacted: JsonObject = { type: 'redacted_thinking', data: 'x' };
const search: JsonObject = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Loire' } };
const found: JsonObject = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const mcp: JsonObject = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'look', server_name: 'maps', input: {} };

const after = (...blocks: readonly JsonObject[]): Message['parts'] =>
  blocks.map((data) => ({ type: 'provider', provider: 'anthropic', data }));
const model = (...parts: readonly Message['parts'][]): Message => ({ role: 'model', parts: parts.flat() });
const text = (value: string): Message['parts'] => [{ type: 'text', text: value }];
const call: Message['parts'] = [{ type: 'toolCall', id: 'toolu_1', name: 'look', arguments: {} }];
const result: Message = { role: 'user', parts: [{ type: 'toolResult', id: 'toolu_1', name: 'look', result: 'a' }] };

/** The encoded messages, which the loopback server must accept. */
function encoded(...messages: readonly Message[]): readonly JsonObject[] {
  const body = { model: 'claude-x', max_tokens: 10, stream: true, messages: encodeMessages(messages).messages };
  expect(refusalOf(body)?.message).toBeUndefined();
  return body.messages;
}
const contents = (...messages: readonly Message[]) => encoded(...messages).map(({ content }) => content);
const asked = [{ type: 'text', text: 'Which river is long?' }];
const wentOn = [{ type: 'text', text: 'Go on.' }];
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const toolResult = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'a' };

describe('the history of Anthropic', () => {
  it.each<[string, JsonObject]>([
    ['a server tool', search],
    ['an MCP tool', mcp],
  ])('has no call of %s whose result never came, before an input', (_, block) => {
    expect(contents(question, model(text('I look.'), after(block)), next)).toEqual([
      asked,
      [{ type: 'text', text: 'I look.' }],
      wentOn,
    ]);
    expect(contents(question, model(after(block)), next)).toEqual([[...asked, ...wentOn]]);
  });

  it('keeps a call without a result in the last message, which the API continues', () => {
    expect(contents(question, model(after(search)))).toEqual([asked, [search]]);
  });

  it('keeps a call that runs after the results of the client, and drops it when an input follows', () => {
    const both = model(after(search), call);
    expect(contents(question, both, result)).toEqual([asked, [search, toolUse], [toolResult]]);
    const stopped: Message = { ...result, parts: [...result.parts, ...next.parts] };
    expect(contents(question, both, stopped)).toEqual([asked, [toolUse], [toolResult, ...wentOn]]);
  });

  it('keeps a call whose result begins the next response of the turn', () => {
    const done = model(after(found), text('The Loire.'));
    expect(contents(question, model(after(search), call), result, done, next)).toEqual([
      asked,
      [search, toolUse],
      [toolResult],
      [found, { type: 'text', text: 'The Loire.' }],
      wentOn,
    ]);
  });

  it('has no result whose call was dropped with an earlier message', () => {
    const history = [question, model(after(search), call), result, model(after(found), text('The Loire.')), next];
    const direct = [question, model(after(found), text('The Loire.')), next];
    expect(contents(...direct)).toEqual([asked, [{ type: 'text', text: 'The Loire.' }], wentOn]);
    for (const messages of [1, 2, 3, 4, 5]) encoded(...keepRecent({ messages })(history));
    expect(contents(...keepRecent({ messages: 3 })(history).filter((message) => message !== history[1]))).toBeDefined();
  });

  it('has no call whose input was cut off, and none of an older history, where it is a text', () => {
    const cut = { ...search, input: '{"query": "Lo' };
    expect(contents(question, model(text('I look.'), after(cut)))).toEqual([
      asked,
      [{ type: 'text', text: 'I look.' }],
    ]);
  });

  it('has no thinking at the end of a message, and no message that only thought', () => {
    expect(contents(question, model(text('Well.'), after(thinking, redacted)), next)).toEqual([
      asked,
      [{ type: 'text', text: 'Well.' }],
      wentOn,
    ]);
    expect(contents(question, model(after(thinking)), next)).toEqual([[...asked, ...wentOn]]);
    expect(contents(question, model(after(thinking, redacted, search)), next)).toEqual([[...asked, ...wentOn]]);
    expect(contents(question, model(after(thinking)))).toEqual([asked]);
    expect(contents(question, model(after(thinking), text('The Loire.')))).toEqual([
      asked,
      [thinking, { type: 'text', text: 'The Loire.' }],
    ]);
  });

  it('has no caller that was removed', () => {
    const code = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'code_execution', input: { code: 'look()' } };
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_2' };
    const called: Message['parts'] = [
      { type: 'toolCall', id: 'toolu_1', name: 'look', arguments: {}, providerData: { anthropic: { caller } } },
    ];
    expect(contents(question, model(after(code), called), result)[1]).toEqual([code, { ...toolUse, caller }]);
    const stopped: Message = { ...result, parts: [...result.parts, ...next.parts] };
    expect(contents(question, model(after(code), called), stopped)[1]).toEqual([toolUse]);
  });

  it('has citations without the file_id of a response', () => {
    const citation = { type: 'char_location', cited_text: 'long', document_index: 0, document_title: null };
    const cited: Message['parts'] = [
      { type: 'text', text: 'It is long.' },
      ...after({ type: 'text', citations: [{ ...citation, file_id: null }] }),
    ];
    expect(contents(question, model(cited))[1]).toEqual([{ type: 'text', text: 'It is long.', citations: [citation] }]);
  });

  it('is the same array of messages if nothing had to be removed', () => {
    const messages = [question, model(after(thinking, search, found), text('The Loire.')), next];
    expect(contents(...messages)[1]).toEqual([thinking, search, found, { type: 'text', text: 'The Loire.' }]);
  });
});

describe('a response of Anthropic that is cut off within the input of a server tool', () => {
  it('stores no call, and reports it with an empty input', async () => {
    const frames = [
      { type: 'message_start', message: { id: 'm', model: 'claude-x' } },
      { type: 'content_block_start', index: 0, content_block: { ...search, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query": "Lo' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
      { type: 'message_stop' },
    ];
    const { fetch } = answering(...frames);
    const events = await lastValueFrom(
      anthropic('claude-x', { apiKey: 'any', fetch })
        .stream({ messages: [question] })
        .pipe(accumulateToolCalls(), consolidate(), toArray()),
    );
    expect(events).toMatchObject([
      { type: 'metadata' },
      { type: 'metadata', metadata: { serverTools: [{ id: 'srvtoolu_1', input: {}, status: 'running' }] } },
      { type: 'finish', reason: 'length' },
    ]);
  });
});
