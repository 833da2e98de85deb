import { describe, expect, it } from '@jest/globals';
import { concat, of } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { hedge } from '../../lib/models/hedge.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { answeredBy, broken, chunks, failingModel, inVirtualTime, lost, modelOf, request } from './models.js';

const values = { ...chunks, m: answeredBy('m'), n: answeredBy('n') };

describe('hedge with after: 0', () => {
  it('hedge with after: 0 continues with the model that answers first', () =>
    diagram('hedge.atOnce', ({ first, second }: Streams<'first' | 'second', Chunk>) =>
      hedge([modelOf('first', [first]), modelOf('second', [second])], { after: 0 }).stream(request),
    ));

  it.each(['t', 'c', 'f'] as const)(
    'hedge with after: 0 is decided by thinking, a fragment of a call, or the finish (%s)',
    (key) => {
      inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
        const [first, second] = [cold('--a', chunks), cold(`-${key}`, chunks)];
        expectObservable(hedge([modelOf('m', [first]), modelOf('n', [second])], { after: 0 }).stream(request)).toBe(
          `-(n${key})`,
          values,
        );
        expectSubscriptions(first.subscriptions).toBe('^!');
      });
    },
  );

  it('hedge with after: 0 goes on without a model that fails or cannot serve the request', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const models = [
        modelOf('l', [cold('-#', {}, lost)]),
        modelOf('o', [cold('-a', chunks)], { thinking: false }),
        modelOf('n', [cold('---b', chunks)]),
      ];
      expectObservable(hedge(models, { after: 0 }).stream({ ...request, thinking: true })).toBe('---(nb)', values);
    });
  });

  it('hedge with after: 0 asks no further model after one that answers at once', () => {
    const [first, second] = [modelOf('m', ['a']), modelOf('n', ['b'])];
    expect(observe(hedge([first, second], { after: 0 }).stream(request)).values).toHaveLength(3);
    expect(second.requests).toEqual([]);
  });

  it('hedge with after: 0 asks no further model after one that begins at once, and has not ended', () => {
    inVirtualTime(({ cold, expectObservable, flush }) => {
      const second = modelOf('n', []);
      const begun = concat(of(chunks.a), cold('-----b-(f|)', chunks));
      expectObservable(hedge([modelOf('m', [begun]), second], { after: 0 }).stream(request)).toBe(
        '(ma)-b-(f|)',
        values,
      );
      flush();
      expect(second.requests).toEqual([]);
    });
  });

  it('hedge with after: 0 asks a model twice that is named twice', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const twice = modelOf('n', [cold('----a', chunks), cold('--b', chunks)]);
      expectObservable(hedge([twice, twice], { after: 0 }).stream(request)).toBe('--(nb)', values);
    });
  });

  it('hedge with after: 0 errors when all models have failed, and completes if a model ends without a finish', () => {
    expect(
      observe(hedge([failingModel('m'), failingModel('n', broken)], { after: 0 }).stream(request)).error,
    ).toMatchObject({
      errors: [lost, broken],
    });
    inVirtualTime(({ cold, expectObservable }) => {
      const models = [modelOf('m', [cold('-i|', chunks)]), modelOf('n', [cold('---b', chunks)])];
      expectObservable(hedge(models, { after: 0 }).stream(request)).toBe('--(mi|)', values);
    });
  });

  it('hedge with after: 0 without a model is an error at once', () => {
    expect(() => hedge([], { after: 0 })).toThrow('hedge has no models.');
  });
});
