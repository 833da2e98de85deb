import { describe, expect, it } from '@jest/globals';
import { filePart, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { memoizePerMessage } from '../../../lib/protocol/encodeOnce.js';

describe('perMessage', () => {
  const counting = () => {
    const encoded: Message[] = [];
    const encode = memoizePerMessage((message) => {
      encoded.push(message);
      return [{ role: message.role, parts: message.parts.length }];
    });
    return { encoded, encode };
  };

  it('encodes each message once, an equal one by itself', () => {
    const { encoded, encode } = counting();
    const [a, b] = [userMessage('a'), userMessage('a')];
    expect([a, b, a].map(encode)).toEqual(Array(3).fill([{ role: 'user', parts: 1 }]));
    expect(encoded).toEqual([a, b]);
    expect(encode(a)).toBe(encode(a));
  });

  it('does not keep the bytes of files', () => {
    const { encoded, encode } = counting();
    const image = userMessage([filePart(new Uint8Array(3), 'image/png')]);
    expect(encode(image)).not.toBe(encode(image));
    expect(encoded).toHaveLength(2);
  });

  it('keeps nothing of a message that cannot be encoded', () => {
    let attempt = 0;
    const encode = memoizePerMessage(() => {
      if (attempt++ === 0) throw new Error('no field for it');
      return [];
    });
    const message = userMessage('a');
    expect(() => encode(message)).toThrow('no field for it');
    expect(encode(message)).toEqual([]);
  });
});
