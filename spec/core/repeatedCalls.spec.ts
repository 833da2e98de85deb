import { describe, expect, it } from '@jest/globals';
import { modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { countRepeatedCalls } from '../../lib/core/repeatedCalls.js';
import { callOf } from '../support/toolCalls.js';

const search = callOf('search', { query: 'cat', page: { from: 1, to: 2 } });
const reordered = callOf('search', { page: { to: 2, from: 1 }, query: 'cat' }, 'other-id');
const other = callOf('search', { query: 'dog' });
const look = callOf('look');

/** A turn that makes these calls, with their results. */
const turn = (...calls: (typeof search)[]): readonly Message[] => [
  modelMessage(calls),
  userMessage(calls.map(({ id, name }) => ({ type: 'toolResult', id, name, result: 1 }))),
];
const input = userMessage('Find it.');

describe('countRepeatedCalls', () => {
  it.each<[string, readonly Message[], number]>([
    ['nothing', [], 0],
    ['only an input', [systemMessage('Be brief.'), input], 0],
    ['one turn', [input, ...turn(search)], 1],
    ['three turns', [input, ...turn(search), ...turn(search), ...turn(search)], 3],
    ['another order of keys', [input, ...turn(reordered), ...turn(search)], 2],
    ['other calls in the same turns', [input, ...turn(search, look), ...turn(other, search)], 2],
    ['other arguments in between', [input, ...turn(search), ...turn(other), ...turn(search)], 1],
    ['another call last', [input, ...turn(search), ...turn(look)], 0],
    ['another input in between', [input, ...turn(search), modelMessage('No.'), input, ...turn(search)], 1],
    ['an input after the turns', [input, ...turn(search), modelMessage('No.'), input], 0],
    ['the call itself, without its result', [input, ...turn(search), modelMessage([search])], 2],
    [
      'a text of the user beside the results',
      [
        input,
        modelMessage([search]),
        userMessage([...(turn(search)[1]?.parts ?? []), { type: 'text', text: 'Go on.' }]),
      ],
      1,
    ],
  ])('countRepeatedCalls counts the turns in a row of a history with %s', (_, messages, count) => {
    expect(countRepeatedCalls(messages, search)).toBe(count);
  });
});
