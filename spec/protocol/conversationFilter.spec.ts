import { describe, expect, it } from '@jest/globals';
import { createConversationFilter } from '../../lib/protocol/conversationFilter.js';

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

  it('createConversationFilter takes time in proportion to the conversation', () => {
    const time = (length: number) => {
      const hide = createConversationFilter(['ab'.repeat(length)]);
      const start = performance.now();
      hide('ab'.repeat(500));
      return performance.now() - start;
    };
    time(1000);
    const [small, large] = [Math.min(time(50_000), time(50_000), time(50_000)), time(200_000)];
    expect(large).toBeLessThan(12 * small + 50);
  });
});
