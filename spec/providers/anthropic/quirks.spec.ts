import { describe, expect, it } from '@jest/globals';
import { decodeAnthropic } from '../../../lib/providers/anthropic/decode.js';
import { readAnswer } from '../../support/recordedAnswers.js';
import { begin, block, end, text } from './frames.js';

describe('anthropic: what compatible servers send differently', () => {
  it('the whole input in the start of the block', () => {
    const { calls } = readAnswer(decodeAnthropic, [
      begin(),
      ...block(0, { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } }),
      ...end('tool_use'),
    ]);
    expect(calls).toEqual([{ type: 'toolCall', id: 'a', name: 'weather', arguments: { city: 'Oslo' } }]);
  });

  it('arguments that have lost their beginning: shown as invalid, not as empty', () => {
    const { calls, finish } = readAnswer(decodeAnthropic, [
      begin(),
      ...block(
        0,
        { type: 'tool_use', id: 'a', name: 'bash', input: {} },
        { type: 'input_json_delta', partial_json: 'command": "ls"}' },
      ),
      ...end('tool_use'),
    ]);
    expect(calls).toMatchObject([{ name: 'bash', arguments: { _raw: 'command": "ls"}', _error: 'invalid_json' } }]);
    expect(finish?.reason).toBe('toolCalls');
  });

  it('the whole answer in message_start', () => {
    const { text: said, finish } = readAnswer(decodeAnthropic, [
      begin({ content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }),
      { type: 'message_stop' },
    ]);
    expect(said).toBe('Hi');
    expect(finish?.reason).toBe('stop');
  });

  it('every index 0', () => {
    const { text: said, calls } = readAnswer(decodeAnthropic, [
      begin(),
      ...text(0, 'Look.'),
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
    ]);
    expect(said).toBe('Look.');
    expect(calls).toMatchObject([
      { id: 'a', name: 'x', arguments: { n: 1 } },
      { id: 'b', name: 'y', arguments: { n: 2 } },
    ]);
  });
});
