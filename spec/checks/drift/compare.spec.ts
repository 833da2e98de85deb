import { describe, expect, it } from '@jest/globals';
import { compare } from './compare.js';

describe('compare', () => {
  const known =
    (...values: readonly string[]) =>
    (value: string) =>
      values.includes(value);
  const leftOut = [
    { reason: 'rarely used', values: ['c'] },
    { reason: 'not for us', values: ['d'] },
  ];

  it('compare finds nothing if each value is known or left out', () => {
    expect(compare(['a', 'b', 'c', 'd'], known('a', 'b'), leftOut)).toEqual({ unexplained: [], stale: [] });
  });

  it('compare reports a new value', () => {
    expect(compare(['a', 'new'], known('a'))).toEqual({ unexplained: ['new'], stale: [] });
  });

  it('compare reports a value that is left out although it is known, or that the SDK no longer has', () => {
    expect(compare(['a', 'c'], known('a', 'c'), leftOut)).toEqual({ unexplained: [], stale: ['c', 'd'] });
  });

  it('compare accepts a pattern, and reports one that matches nothing', () => {
    const values = ['search.started', 'search.ended', 'new'];
    expect(compare(values, known(), [{ reason: 'by its suffix', values: /^\w+\.(started|ended)$/ }])).toEqual({
      unexplained: ['new'],
      stale: [],
    });
    expect(compare(['a'], known('a'), [{ reason: 'old', values: /^a$/ }])).toEqual({
      unexplained: [],
      stale: ['/^a$/'],
    });
  });
});
