import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RivuletError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import type { Message } from '../../../lib/core/message.js';
import { decodeAnthropic } from '../../../lib/providers/anthropic/decode.js';
import { encodeMessages } from '../../../lib/providers/anthropic/messages.js';
import { itReadsRecordings, readAnswer } from '../../support/recordedAnswers.js';
import { begin, block, end, text, thinking, toolUse } from './frames.js';

itReadsRecordings('anthropic', decodeAnthropic);

const read = (...frames: readonly JsonObject[]) => readAnswer(decodeAnthropic, frames);
/** What goes back of an answer. */
const replayed = (message: Message | undefined) => encodeMessages(message ? [message] : []).messages[0]?.['content'];

describe('anthropic: an answer', () => {
  it('tells its id and model once, before the first chunk, and nothing before an error', () => {
    expect(read(begin(), { type: 'ping' }, ...text(0, 'Hel', 'lo'), ...end()).chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'msg_1', model: 'claude-x' } },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
      { type: 'finish', reason: 'stop', rawReason: 'end_turn', usage: { input: 20, output: 12, total: 32 } },
    ]);
    const failed = read(begin(), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    expect(failed.chunks).toEqual([]);
    expect(failed.error).toMatchObject({ code: 'provider', providerCode: 'overloaded_error', retryable: true });
  });

  it.each([
    ['overloaded_error', true],
    ['api_error', true],
    ['rate_limit_error', true],
    ['timeout_error', true],
    ['invalid_request_error', false],
    ['authentication_error', false],
  ])('fails with %s inside the stream, retryable: %s', (type, retryable) => {
    const { error, text: said } = read(begin(), ...text(0, 'Half'), {
      type: 'error',
      error: { type, message: 'No more.' },
    });
    expect(said).toBe('Half');
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: type,
      retryable,
      message: expect.stringContaining('No more.') as unknown,
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'toolCalls'],
    ['pause_turn', 'paused'],
    ['refusal', 'contentFilter'],
    ['tool_calls', 'toolCalls'],
    ['length', 'length'],
    ['stop', 'stop'],
    ['something_new', 'other'],
  ])('that stops with %s finishes with %s', (word, reason) => {
    expect(read(begin(), ...text(0, 'a'), ...end(word)).finish).toMatchObject({ reason, rawReason: word });
  });

  it('counts cached tokens with the input and thinking within the output, and lets the last count stand', () => {
    const usage = { input_tokens: 3, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 1 };
    const { finish } = read(
      begin({ usage }),
      ...end('end_turn', { input_tokens: 5, output_tokens: 40, output_tokens_details: { thinking_tokens: 30 } }),
    );
    expect(finish?.usage).toEqual({
      input: 115,
      output: 40,
      total: 155,
      cachedInput: 100,
      cacheWriteInput: 10,
      reasoning: 30,
    });
  });

  it('does not lose its input to zeros that a compatible server sends at the end, and has no usage where all is 0', () => {
    const zeros = { input_tokens: 0, output_tokens: 7 };
    expect(read(begin(), ...end('end_turn', zeros)).finish?.usage).toEqual({ input: 20, output: 7, total: 27 });
    const none = read(
      begin({ usage: { input_tokens: 0, output_tokens: 0 } }),
      ...end('end_turn', { output_tokens: 0 }),
    );
    expect(none.finish).not.toHaveProperty('usage');
  });

  it('is interrupted when it ends without a stop reason and without message_stop, whole with either', () => {
    expect(read(begin(), ...text(0, 'a')).error).toMatchObject({ code: 'stream_interrupted', provider: 'anthropic' });
    expect(read(begin(), ...text(0, 'a'), { type: 'message_stop' }).finish?.reason).toBe('unspecified');
    expect(read(begin(), ...text(0, 'a'), ...end().slice(0, 1)).finish?.reason).toBe('stop');
  });

  it('shows the stop text that was met, and why it was refused', () => {
    const delta = { stop_reason: 'refusal', stop_sequence: 'END', stop_details: { type: 'refusal', category: 'bio' } };
    const { chunks } = read(begin(), { type: 'message_delta', delta }, { type: 'message_stop' });
    expect(chunks.at(-2)).toEqual({
      type: 'metadata',
      metadata: { stopSequence: 'END', stopDetails: { type: 'refusal', category: 'bio' } },
    });
  });
});

describe('anthropic: calls', () => {
  it('come whole at the end of their block, also without arguments once something follows', () => {
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

  it('that the limit of tokens has cut are not exposed, although their block stops', () => {
    const cut = read(begin(), ...toolUse(0, 'a', 'write', '{"text":"once upon'), ...end('max_tokens'));
    expect(cut.calls).toEqual([]);
    expect(read(begin(), ...toolUse(0, 'a', 'delete_all'), ...end('max_tokens')).calls).toEqual([]);
    expect(read(begin(), ...toolUse(0, 'a', 'now'), ...end('tool_use')).calls).toMatchObject([
      { name: 'now', arguments: {} },
    ]);
  });

  it('of a server that leaves starts and stops out are read all the same', () => {
    const delta = (index: number, fields: JsonObject) => ({ type: 'content_block_delta', index, delta: fields });
    const { text: said, thinking: thought } = read(
      begin(),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(1, { type: 'text_delta', text: 'Hi' }),
      ...end(),
    );
    expect([thought, said]).toEqual(['hm', 'Hi']);
  });
});

describe('anthropic: what goes back', () => {
  it('keeps thinking, redacted thinking, text and calls in their order, thinking between calls too', () => {
    const { message } = read(
      begin(),
      ...thinking(0, 'first', 'SIG1'),
      ...block(1, { type: 'redacted_thinking', data: 'XYZ' }),
      ...text(2, 'Let me ', 'look.'),
      ...toolUse(3, 'a', 'now', '{}'),
      ...thinking(4, '', 'SIG2'),
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

  it("keeps what the server's own tools did, with the citations of each text, and shows them as metadata and sources", () => {
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
      ...text(0, 'Searching.'),
      ...block(
        1,
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":"r"}' },
      ),
      ...block(2, result),
      ...text(3, 'It is '),
      ...block(4, cited, cite, cite, { type: 'text_delta', text: 'the Loire' }),
      ...text(5, '.'),
      ...end(),
    );
    const use = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'r' } };
    expect(calls).toEqual([]);
    expect(chunks.filter(({ type }) => type === 'metadata').slice(1)).toEqual([
      { type: 'metadata', metadata: { serverTool: use } },
      { type: 'metadata', metadata: { serverTool: result } },
    ]);
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

  it('keeps a turn that is paused within a tool of the server, even one without any text', () => {
    const { message, finish } = read(
      begin(),
      ...block(0, { type: 'server_tool_use', id: 's1', name: 'bash', input: { c: 1 } }),
      ...end('pause_turn'),
    );
    expect(finish?.reason).toBe('paused');
    expect(replayed(message)).toEqual([{ type: 'server_tool_use', id: 's1', name: 'bash', input: { c: 1 } }]);
  });

  it('keeps blocks that are not known, as they grew', () => {
    const { message } = read(
      begin(),
      ...block(0, { type: 'novelty', content: 'a', n: 1 }, { type: 'novelty_delta', content: 'b' }),
      ...text(1, 'x'),
      ...end(),
    );
    expect(replayed(message)).toEqual([
      { type: 'novelty', content: 'ab', n: 1 },
      { type: 'text', text: 'x' },
    ]);
  });

  it('keeps the caller of a call that the server’s own code made', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 's1' };
    const { message } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 'a', name: 'now', input: {}, caller }),
      ...end('tool_use'),
    );
    expect(replayed(message)).toEqual([{ type: 'tool_use', id: 'a', name: 'now', input: {}, caller }]);
  });
});

describe('anthropic: any frames', () => {
  const json = fc.jsonValue().map((value) => value as JsonObject);
  const type = fc.constantFrom(
    ...[
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'error',
      'new',
    ],
  );
  const delta = fc.record(
    {
      type: fc.constantFrom(
        'text_delta',
        'thinking_delta',
        'signature_delta',
        'input_json_delta',
        'citations_delta',
        'x',
      ),
      text: json,
      thinking: json,
      signature: json,
      partial_json: json,
      citation: json,
      stop_reason: json,
    },
    { requiredKeys: [] },
  );
  const content_block = fc.record(
    {
      type: fc.constantFrom('text', 'thinking', 'tool_use', 'server_tool_use', 'x', null),
      id: json,
      name: json,
      input: json,
      text: json,
      citations: json,
      caller: json,
    },
    { requiredKeys: [] },
  );
  const index = fc.oneof(fc.nat(2), json);
  const frame = fc.record(
    {
      type,
      index,
      delta: fc.oneof(delta, json),
      content_block: fc.oneof(content_block, json),
      message: json,
      usage: json,
      error: json,
    },
    { requiredKeys: ['type'] },
  );

  it('crash nothing: they give chunks, or an error of ours', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(frame, fc.dictionary(fc.string(), json)), { maxLength: 12 }), (frames) => {
        const { error, message } = readAnswer(decodeAnthropic, frames);
        if (error !== undefined) expect(error).toBeInstanceOf(RivuletError);
        expect(() => replayed(message)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

describe('anthropic: arguments that come as an object', () => {
  it('are those of the call', () => {
    const delta = { type: 'input_json_delta', partial_json: { city: 'Oslo' } };
    const { message } = read(
      begin(),
      ...block(0, { type: 'tool_use', id: 't', name: 'f', input: {} }, delta),
      ...end('tool_use'),
    );
    expect(message?.parts).toMatchObject([{ type: 'toolCall', id: 't', name: 'f', arguments: { city: 'Oslo' } }]);
  });
});
