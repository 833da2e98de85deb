import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createConversationFilter } from '../../lib/protocol/conversationFilter.js';
import { expectLinear } from '../support/cost.js';

const filter = createConversationFilter([
  'You are Zorg.\nThe "vault" opens at naïve 4711, 你好世界你好世界你好世界你好世界.',
  'Hi',
]);

describe('createConversationFilter', () => {
  it.each([
    ['Bad: "You are Zorg.\\nThe \\"vault\\" opens" is wrong', 'Bad: "[conversation]" is wrong'],
    ['Bad: You are Zorg. The vault ...', 'Bad: [conversation] ...'],
    ['{\\"of\\":\\"opens at na\\\\u00efve 4711\\"}', '{\\"of\\":\\"[conversation]\\"}'],
    ['你好世界你好世界你好世界你好世界', '[conversation]'],
    ['You are out of credit. The vault is closed.', 'You are out of credit. The vault is closed.'],
    ['', ''],
  ])('createConversationFilter hides what %j repeats', (text, expected) => {
    expect(filter(text)).toBe(expected);
  });

  it('createConversationFilter hides nothing of a conversation that is too short to be recognized', () => {
    expect(createConversationFilter(['Hi there'])('Hi there')).toBe('Hi there');
    expect(createConversationFilter([])('Hi there')).toBe('Hi there');
  });

  it.each([
    ['16 letters', 'abcdefgh ijklmnop', 'x abcdefghijklmnop y', 'x [conversation] y'],
    ['not 15', 'abcdefgh ijklmno', 'x abcdefghijklmno y', 'x abcdefghijklmno y'],
    ['not 15 of more', 'abcdefghijklmnopqrst', 'x abcdefghijklmno y', 'x abcdefghijklmno y'],
    ['the last 16', 'abcdefghijklmnopqrstuvwx', '.ijklmnopqrstuvwx.', '.[conversation].'],
    ['16 at odd places', 'abcdefghijklmnopqrstuvwx', '.fghijklmnopqrstu.', '.[conversation].'],
    ['digits beside other letters', 'naïve 4711 4712 4713 4714', 'naïve-4711.4712:4713;4714', '[conversation]'],
    ['digits of other scripts', '١٢٣٤ ٥٦٧٨ ١٢٣٤ ٥٦٧٨', '١٢٣٤-٥٦٧٨-١٢٣٤-٥٦٧٨', '[conversation]'],
    ['a text that is escaped in the conversation', 'abcdefgh\\nijklmnop', 'abcdefgh ijklmnop', '[conversation]'],
    ['two texts in a row', ['abcdefgh', 'ijklmnop'], 'abcdefgh, ijklmnop', '[conversation]'],
  ])('createConversationFilter hides %s', (_, conversation, text, expected) => {
    expect(createConversationFilter([conversation].flat())(text)).toBe(expected);
  });

  it('createConversationFilter hides whatever a text repeats, at any position and however often', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1'), minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(letters, letters, fc.nat(40), fc.integer({ min: 1, max: 30 }), (conversation, other, from, times) => {
        const repeated = conversation.slice(from, from + 20);
        fc.pre(repeated.length >= 16);
        const text = `${other}, ${`${repeated}, `.repeat(times)}`;
        expect(createConversationFilter([other.slice(0, 9), conversation])(text)).not.toContain(repeated);
      }),
    );
  });

  it('createConversationFilter takes time in proportion to the lengths, for texts that have nothing in common', () => {
    const words = (word: string, count: number) =>
      Array.from({ length: count }, (_, at) => `${word}${at * 7919}`).join(' ');
    const inputs = [10_000, 20_000, 40_000].map((count) => {
      const text = words('this', count).slice(0, count / 4);
      return { text, conversation: words('that', count) };
    });
    const filterText = ({ text, conversation }: (typeof inputs)[number]) =>
      expect(createConversationFilter([conversation])(text)).toBe(text);
    // Where each window is searched in the conversation, the last size takes 16 times as long as the first one.
    expectLinear(filterText, inputs);
  });
});
