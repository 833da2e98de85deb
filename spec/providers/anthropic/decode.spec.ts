import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RivuletError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeAnthropic } from '../../../lib/providers/anthropic/decode.js';
import { itReadsRecordings } from '../../support/recordedAnswers.js';
import { begin, end, read, replayed, textBlock } from './frames.js';

itReadsRecordings('anthropic', decodeAnthropic);

describe('decodeAnthropic', () => {
  it('decodeAnthropic reports id and model once, before the first chunk, and nothing before an error', () => {
    expect(read(begin(), { type: 'ping' }, ...textBlock(0, 'Hel', 'lo'), ...end()).chunks).toEqual([
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
  ])('decodeAnthropic throws %s inside the stream, retryable: %s', (type, retryable) => {
    const { error, text } = read(begin(), ...textBlock(0, 'Half'), {
      type: 'error',
      error: { type, message: 'No more.' },
    });
    expect(text).toBe('Half');
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: type,
      retryable,
      message: expect.stringContaining('No more.') as unknown,
    });
  });

  it('decodeAnthropic throws an interruption without a stop reason and message_stop, and needs only one of them', () => {
    expect(read(begin(), ...textBlock(0, 'a')).error).toMatchObject({
      code: 'stream_interrupted',
      provider: 'anthropic',
    });
    expect(read(begin(), ...textBlock(0, 'a'), { type: 'message_stop' }).finish?.reason).toBe('unspecified');
    expect(read(begin(), ...textBlock(0, 'a'), ...end().slice(0, 1)).finish?.reason).toBe('stop');
  });

  it('decodeAnthropic reports the stop sequence that was met, and why the answer was refused', () => {
    const delta = { stop_reason: 'refusal', stop_sequence: 'END', stop_details: { type: 'refusal', category: 'bio' } };
    const { chunks } = read(begin(), { type: 'message_delta', delta }, { type: 'message_stop' });
    expect(chunks.at(-2)).toEqual({
      type: 'metadata',
      metadata: { stopSequence: 'END', stopDetails: { type: 'refusal', category: 'bio' } },
    });
  });

  it('decodeAnthropic reports what the API did to the request', () => {
    const input_transformations = [{ type: 'thinking_dropped' }];
    const context_management = { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 3 }] };
    const diagnostics = { cache_miss_reason: { type: 'tools_changed' } };
    const { chunks } = read(
      begin({ diagnostics, input_transformations: [] }),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, context_management, input_transformations },
      { type: 'message_stop' },
    );
    expect(chunks.at(-2)).toEqual({
      type: 'metadata',
      metadata: {
        diagnostics,
        contextManagement: context_management,
        inputTransformations: input_transformations,
      },
    });
  });

  it('decodeAnthropic reads a complete answer in message_start', () => {
    const { text, finish } = read(begin({ content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }), {
      type: 'message_stop',
    });
    expect(text).toBe('Hi');
    expect(finish?.reason).toBe('stop');
  });
});

describe('decodeAnthropic: any frames', () => {
  const json = fc.jsonValue({ maxDepth: 2 }).map((value) => value as JsonObject);
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

  it('decodeAnthropic emits chunks or throws a RivuletError, whatever the frames', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(frame, fc.dictionary(fc.string(), json)), { maxLength: 12 }), (frames) => {
        const { error, message } = read(...frames);
        if (error !== undefined) expect(error).toBeInstanceOf(RivuletError);
        expect(() => replayed(message)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
