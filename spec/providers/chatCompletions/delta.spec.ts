import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { delta, frame, read } from './reading.js';

describe('DeltaDecoder', () => {
  it('DeltaDecoder emits a refusal as text and finishes with contentFilter', () => {
    const { text, finish: last } = read([delta({ refusal: 'I must ' }), delta({ refusal: 'not.' }), delta({}, 'stop')]);
    expect(text).toBe('I must not.');
    expect(last).toMatchObject({ reason: 'contentFilter', rawReason: 'stop' });
  });

  it('DeltaDecoder emits from a complete message only what was not streamed', () => {
    const message = {
      role: 'assistant',
      content: 'Hello world',
      reasoning: 'Hm',
      tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
    };
    const streamed = read([
      delta({ content: 'Hello ' }),
      delta({ content: 'world' }),
      frame({ delta: {}, message, finish_reason: 'stop' }),
    ]);
    expect(streamed).toMatchObject({ text: 'Hello world', thinking: 'Hm' });
    expect(streamed.chunks.filter(({ type }) => type === 'toolCallFragment')).toEqual([
      { type: 'toolCallFragment', id: 'c', name: 'f', arguments: '{}' },
    ]);
    const unstreamed = read([frame({ message, finish_reason: 'tool_calls' })]);
    expect(unstreamed).toMatchObject({ text: 'Hello world', thinking: 'Hm', finish: { reason: 'toolCalls' } });
  });

  it('DeltaDecoder reads the calls of a complete message only if none was streamed', () => {
    const call = (id: string, fields: JsonObject) => ({ tool_calls: [{ index: 0, id, function: fields }] });
    const streamed = read([
      delta(call('c', { name: 'f', arguments: '{"a":' })),
      delta(call('c', { arguments: '1}' })),
      frame({ message: call('of_the_message', { name: 'f', arguments: '{"a":1}' }), finish_reason: 'tool_calls' }),
    ]);
    expect(streamed.chunks.filter(({ type }) => type === 'toolCallFragment')).toMatchObject([
      { id: 'c', name: 'f', arguments: '{"a":' },
      { id: 'c', arguments: '1}' },
    ]);
  });

  it('DeltaDecoder emits only the new text of messages that grow', () => {
    const grown = ['He', 'Hello', 'Hello world'].map((content) => frame({ message: { content } }));
    expect(read(grown).text).toBe('Hello world');
    expect(read([delta({ content: '\n\nHello' }), frame({ message: { content: 'Hello' } })]).text).toBe('\n\nHello');
  });
});
