import { describe, expect, it } from '@jest/globals';
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

  it('DeltaDecoder emits only the new text of messages that grow', () => {
    const grown = ['He', 'Hello', 'Hello world'].map((content) => frame({ message: { content } }));
    expect(read(grown).text).toBe('Hello world');
    expect(read([delta({ content: '\n\nHello' }), frame({ message: { content: 'Hello' } })]).text).toBe('\n\nHello');
  });
});
