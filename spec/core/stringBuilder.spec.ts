import { describe, expect, it } from '@jest/globals';
import { StringBuilder } from '../../lib/core/stringBuilder.js';

describe('StringBuilder', () => {
  it('StringBuilder joins all deltas in order, however many there are and whenever it is read', () => {
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

  it('StringBuilder is empty at first', () => {
    expect([new StringBuilder().toString(), new StringBuilder().length]).toEqual(['', 0]);
  });
});
