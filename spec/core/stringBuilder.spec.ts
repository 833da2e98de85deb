import { describe, expect, it } from '@jest/globals';
import { StringBuilder } from '../../lib/core/stringBuilder.js';

describe('GrowingText', () => {
  it('holds all pieces in order, however many and whenever it is asked', () => {
    const text = new StringBuilder();
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
    expect([new StringBuilder().toString(), new StringBuilder().length]).toEqual(['', 0]);
  });
});
