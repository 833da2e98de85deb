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

  it('StringBuilder joins small and large deltas in order, beside another builder with other or equal deltas', () => {
    const texts = [new StringBuilder(), new StringBuilder(), new StringBuilder()];
    const plain = ['', '', ''];
    for (let at = 0; at < 2_000; at++)
      texts.forEach((text, index) => {
        const delta = at % 500 === 499 ? `${index}`.repeat(5_000) : index === 2 ? `other ${at}` : `${at}`;
        text.add(delta);
        plain[index] = (plain[index] ?? '') + delta;
      });
    expect(texts.map(String)).toEqual(plain);
  });

  it('StringBuilder throws an error of its own for a text that no string can hold, and keeps what it has', () => {
    const text = new StringBuilder(5);
    text.add('12345');
    expect(() => text.add('6')).toThrow(expect.objectContaining({ code: 'text_too_long', limit: 5, retryable: false }));
    expect(text.toString()).toBe('12345');
  });

  it('StringBuilder is empty at first', () => {
    expect([new StringBuilder().toString(), new StringBuilder().length]).toEqual(['', 0]);
  });
});
