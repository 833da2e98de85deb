import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../lib/core/chunk.js';
import { race } from '../../lib/models/race.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { answeredBy, broken, chunks, failingModel, inVirtualTime, lost, modelOf, request } from './models.js';

const values = { ...chunks, m: answeredBy('m'), n: answeredBy('n') };

describe('race', () => {
  it('race continues with the model that answers first', () =>
    diagram('race', ({ first, second }: Streams<'first' | 'second', Chunk>) =>
      race([modelOf('first', [first]), modelOf('second', [second])]).stream(request),
    ));

  it.each(['t', 'c', 'f'] as const)('race is decided by thinking, a fragment of a call, or the finish (%s)', (key) => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
      const [first, second] = [cold('--a', chunks), cold(`-${key}`, chunks)];
      expectObservable(race([modelOf('m', [first]), modelOf('n', [second])]).stream(request)).toBe(
        `-(n${key})`,
        values,
      );
      expectSubscriptions(first.subscriptions).toBe('^!');
    });
  });

  it('race goes on without a model that fails or cannot serve the request', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const models = [
        modelOf('l', [cold('-#', {}, lost)]),
        modelOf('o', [cold('-a', chunks)], { thinking: false }),
        modelOf('n', [cold('---b', chunks)]),
      ];
      expectObservable(race(models).stream({ ...request, thinking: true })).toBe('---(nb)', values);
    });
  });

  it('race asks no further model after one that answers at once', () => {
    const [first, second] = [modelOf('m', ['a']), modelOf('n', ['b'])];
    expect(observe(race([first, second]).stream(request)).values).toHaveLength(3);
    expect(second.requests).toEqual([]);
  });

  it('race asks a model twice that is named twice', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const twice = modelOf('n', [cold('----a', chunks), cold('--b', chunks)]);
      expectObservable(race([twice, twice]).stream(request)).toBe('--(nb)', values);
    });
  });

  it('race errors when all models have failed, and completes if a model ends without a finish', () => {
    expect(observe(race([failingModel('m'), failingModel('n', broken)]).stream(request)).error).toMatchObject({
      errors: [lost, broken],
    });
    inVirtualTime(({ cold, expectObservable }) => {
      const models = [modelOf('m', [cold('-i|', chunks)]), modelOf('n', [cold('---b', chunks)])];
      expectObservable(race(models).stream(request)).toBe('--(mi|)', values);
    });
  });

  it('race without a model is an error at once', () => {
    expect(() => race([])).toThrow('race has no models.');
  });
});
