import { describe, expect, it } from '@jest/globals';
import { mergeMetadata, metadataOfRetracted } from '../../lib/core/metadata.js';

describe('mergeMetadata', () => {
  it('keeps the last value of a key and all other keys', () => {
    const earlier = { id: 'a', model: 'm', nested: { a: 1 } };
    expect(mergeMetadata(earlier, { id: 'b', nested: { b: 2 } })).toEqual({ id: 'b', model: 'm', nested: { b: 2 } });
    expect(earlier).toEqual({ id: 'a', model: 'm', nested: { a: 1 } });
    expect(mergeMetadata(undefined, { id: 'a' })).toEqual({ id: 'a' });
  });

  it('merges server tools by id, in the order in which they began', () => {
    const started = { serverTools: [{ id: '1', name: 'search', status: 'running', input: { q: 'a' }, raw: 1 }] };
    const other = { serverTools: [{ id: '2', name: 'fetch', status: 'running', raw: 2 }, { name: 'no id' }] };
    const done = {
      serverTools: [{ id: '1', name: 'search', status: 'completed', output: 'x', raw: 3 }, { name: 'no id' }],
    };
    expect([started, other, done].reduce((merged, later) => mergeMetadata(merged, later as never), {})).toEqual({
      serverTools: [
        { id: '1', name: 'search', status: 'completed', input: { q: 'a' }, output: 'x', raw: 3 },
        { id: '2', name: 'fetch', status: 'running', raw: 2 },
        { name: 'no id' },
        { name: 'no id' },
      ],
    });
  });

  it('adds costs', () => {
    expect(mergeMetadata({ cost: 1 }, { cost: 2, id: 'a' })).toEqual({ cost: 3, id: 'a' });
    expect(mergeMetadata({ id: 'a' }, { cost: 2 })).toEqual({ id: 'a', cost: 2 });
    expect(mergeMetadata({ cost: 2 }, { id: 'a' })).toEqual({ id: 'a', cost: 2 });
  });
});

describe('metadataOfRetracted', () => {
  it('keeps only the cost', () => {
    expect(metadataOfRetracted({ cost: 1, id: 'a', serverTools: [] })).toEqual({ cost: 1 });
    expect(metadataOfRetracted({ id: 'a' })).toBeUndefined();
    expect(metadataOfRetracted(undefined)).toBeUndefined();
  });
});
