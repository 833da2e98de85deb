import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, interval, NEVER, range, take } from 'rxjs';
import { drawInVirtualTime, inVirtualTime, playMarbles } from 'rivulet/testing';

describe('playMarbles', () => {
  it('playMarbles emits all values of a letter in one millisecond, and ends where the diagram does', () => {
    expect(inVirtualTime(() => playMarbles('20ms a 4ms (b|)', { a: [1, 2], b: [3] }))).toEqual({
      values: [
        { at: 20, value: 1 },
        { at: 20, value: 2 },
        { at: 25, value: 3 },
      ],
      end: 'completed',
      at: 25,
    });
  });

  it('playMarbles fails with the error at #', () => {
    const { end, error, at } = inVirtualTime(() => playMarbles('5ms #', {}, new Error('broken')));
    expect({ end, error, at }).toEqual({ end: 'failed', error: new Error('broken'), at: 5 });
  });

  it('playMarbles rejects a letter without values', () => {
    expect(() => playMarbles('a b', { a: 1 })).toThrow('has the letter b, and no values for it');
  });

  it('playMarbles stays open without an end', () => {
    expect(inVirtualTime(() => playMarbles('a', { a: ['x'] }), 100)).toMatchObject({ end: 'open', at: 100 });
  });

  it('playMarbles plays in real time too, and emits synchronously at 0', async () => {
    await expect(firstValueFrom(playMarbles('a 2ms b', { a: [1], b: [2] }))).resolves.toBe(1);
  });
});

describe('drawInVirtualTime', () => {
  it.each([
    ['20ms a 4ms b 99ms |', { a: [1, 2], b: [3] }],
    ['a 4ms (b|)', { a: [1], b: [3] }],
    ['3ms |', {}],
    ['a b c', { a: [1], b: [2], c: [3] }],
  ])('drawInVirtualTime draws what playMarbles plays: %s', (marbles, values) => {
    expect(drawInVirtualTime(() => playMarbles<number>(marbles, values as Record<string, number[]>))).toEqual({
      marbles,
      values,
    });
  });

  it('drawInVirtualTime has letters for more values than the alphabet', () => {
    const drawn = drawInVirtualTime(() => interval(2).pipe(take(200)));
    expect(drawInVirtualTime(() => playMarbles(drawn.marbles, drawn.values))).toEqual(drawn);
  });

  it('drawInVirtualTime returns the error of a failure', () => {
    expect(drawInVirtualTime(() => playMarbles('a 4ms #', { a: [1] }, 'broken'))).toEqual({
      marbles: 'a 4ms #',
      values: { a: [1] },
      error: 'broken',
    });
    expect(inVirtualTime(() => NEVER, 10)).toMatchObject({ end: 'open' });
  });
});

describe('inVirtualTime', () => {
  it('inVirtualTime fails for an endless Observable', () => {
    expect(() => inVirtualTime(() => range(0, Infinity))).toThrow('emits more than 200000 values in 0 ms');
  });
});
