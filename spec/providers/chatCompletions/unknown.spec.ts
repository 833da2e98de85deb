import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { delta, read } from './reading.js';

const reports = (frames: readonly JsonObject[]) =>
  read(frames).chunks.flatMap((chunk) =>
    chunk.type === 'metadata' && 'server' in chunk.metadata ? [chunk.metadata['server']] : [],
  );

describe('UnknownCollector', () => {
  const word = fc.stringMatching(/^[a-z]{3,8}$/).map((name) => `new_${name}`);
  const value = fc.constantFrom<JsonObject | string | number>('x', 1, { a: [1] });

  it('UnknownCollector keeps unknown fields, parts and frames as metadata, and changes nothing else', () => {
    fc.assert(
      fc.property(word, word, word, word, value, (field, partType, frameField, reason, fields) => {
        const part = { type: partType, value: fields };
        const answer = read([
          delta({ content: 'Hel', [field]: 'earlier' }),
          delta({ content: 'lo', [field]: fields }),
          { [frameField]: fields },
          delta({ content: [part] }),
          delta({}, reason),
        ]);
        expect(answer.error).toBeUndefined();
        expect(answer.text).toBe('Hello');
        expect(answer.finish).toMatchObject({ reason: 'other', rawReason: reason });
        expect(answer.chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata] : []))).toEqual([
          { server: { delta: { [field]: fields }, frame: { [frameField]: fields }, content: [part] } },
        ]);
      }),
    );
  });

  it('UnknownCollector reports nothing for documented fields and empty values', () => {
    const known = { role: 'assistant', content: 'Hi', refusal: null, reasoning: 'Hm', new_field: null, other: '' };
    expect(reports([delta(known), { id: 'x', object: 'chat.completion.chunk', choices: [], usage: {} }])).toEqual([]);
  });
});
