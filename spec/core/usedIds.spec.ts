import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { usedToolCallIds } from '../../lib/core/usedIds.js';

const call = (...ids: readonly string[]): Message =>
  modelMessage(ids.map((id) => ({ type: 'toolCall', id, name: 'f', arguments: {} })));

const usedOf = (messages: readonly Message[]) =>
  ['a', 'b', 'c', 'd'].filter((id) => usedToolCallIds(messages).has(id)).join('');

describe('usedToolCallIds', () => {
  it('has the ids of all calls and no others', () => {
    const results = userMessage([{ type: 'toolResult', id: 'c', name: 'f', result: 1 }]);
    expect(usedOf([call('a'), results, call('b')])).toBe('ab');
    expect(usedOf([])).toBe('');
  });

  it('has the ids of a conversation that has grown, whether or not the ids were collected before', () => {
    const start = [call('a')];
    expect(usedOf([...start, call('b')])).toBe('ab');
    usedToolCallIds(start);
    const second = [...start, userMessage('Hi'), call('b', 'c')];
    expect(usedOf(second)).toBe('abc');
    expect(usedOf(start)).toBe('a');
    expect(usedOf([...second, call('d')])).toBe('abcd');
    expect(usedOf(second)).toBe('abc');
  });

  it('separates two continuations of one conversation', () => {
    const start = [call('a')];
    usedToolCallIds(start);
    const first = [...start, call('b')];
    const second = [...start, call('c')];
    expect([first, second, start].map(usedOf)).toEqual(['ab', 'ac', 'a']);
    expect(usedOf([...first, call('d')])).toBe('abd');
    expect(usedOf([...second, call('b')])).toBe('abc');
  });

  it('counts an id that is used twice from its first use on', () => {
    const start = [call('a')];
    usedToolCallIds(start);
    const again = [...start, call('a')];
    expect(usedOf(again)).toBe('a');
    expect(usedOf(start)).toBe('a');
  });
});
