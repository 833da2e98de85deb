import { describe, expect, it } from '@jest/globals';
import { GrowingText } from '../../lib/core/growingText.js';

describe('GrowingText', () => {
  it('holds all pieces in order, however many and whenever it is asked', () => {
    const text = new GrowingText();
    let plain = '';
    for (let at = 0; at < 1_000; at++) {
      text.add(`${at} `);
      plain += `${at} `;
      if (at % 100 === 7) expect(text.toString()).toBe(plain);
      expect(text.length).toBe(plain.length);
    }
    expect(text.toString()).toBe(plain);
  });

  it('is empty at first', () => {
    expect([new GrowingText().toString(), new GrowingText().length]).toEqual(['', 0]);
  });
});
