import { describe, expect, it } from '@jest/globals';
import { Sequence } from '../../../lib/providers/openaiResponses/decode.js';

/** Whether each event is a repeated one, by its number, or its number and its item. */
function repeated(events: readonly (number | readonly [number, string])[], items: readonly string[] = []) {
  const sequence = new Sequence();
  return events.map((event) => {
    const [sequence_number, item_id] = typeof event === 'number' ? [event] : event;
    return sequence.isRepeated({ sequence_number, ...(item_id ? { item_id } : {}) }, (id) => items.includes(id));
  });
}

describe('Sequence', () => {
  it.each<[string, Parameters<typeof repeated>, readonly boolean[]]>([
    ['the last number, 2', [[0, 1, 2, 2]], [false, false, false, true]],
    ['all numbers up to 2, and only these', [[0, 1, 2, 0, 1, 2, 3]], [false, false, false, true, true, true, false]],
    [
      'no event of a server that counts 0 and 1 again and again',
      [[0, 1, 1, 0, 1]],
      [false, false, false, false, false],
    ],
    ['no event after one number in all of them', [[0, 0, 0, 5, 3]], [false, false, false, false, false]],
    ['an event of an item that is known', [[0, 3, [2, 'a']], ['a']], [false, false, true]],
    [
      'no event once another item begins to count again',
      [[0, 3, [2, 'b'], [2, 'a']], ['a']],
      [false, false, false, false],
    ],
  ])('Sequence takes for repeated: %s', (_, events, expected) => {
    expect(repeated(...events)).toEqual(expected);
  });
});
