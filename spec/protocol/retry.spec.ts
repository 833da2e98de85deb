import { describe, expect, it } from '@jest/globals';
import { concat, defer, of, throwError } from 'rxjs';
import type { ObservableNotification } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConfigurationError, ConnectionError, HttpError, TimeoutError } from '../../lib/core/errors.js';
import { retryBeforeFirst } from '../../lib/protocol/retry.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
const lost = new ConnectionError('toy', 'gone');
const busy = (retryAfter?: number) =>
  new HttpError('busy', {
    provider: 'toy',
    status: 429,
    retryable: true,
    body: '',
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
const certain = { random: () => 0 };

describe('retryBeforeFirst', () => {
  it('tries three more times after 1, 2 and 4 s, and then gives the last error', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst(certain))).toBe('7s #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '1s (^!)', '3s (^!)', '7s (^!)']);
    });
  });

  it('leaves up to the given part of a wait to chance', () => {
    run(({ cold, expectObservable }) => {
      const source = () => cold('#', undefined, lost);
      expectObservable(source().pipe(retryBeforeFirst({ random: () => 1 }))).toBe('3500ms #', undefined, lost);
      expectObservable(source().pipe(retryBeforeFirst({ random: () => 0.5, jitter: 1, count: 1 }))).toBe(
        '500ms #',
        undefined,
        lost,
      );
      expectObservable(source().pipe(retryBeforeFirst({ random: () => 1, jitter: 0, initialDelay: 10 }))).toBe(
        '70ms #',
        undefined,
        lost,
      );
    });
  });

  it('doubles up to the longest wait, and waits as long as the server asks, up to that', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(
        cold('#', undefined, lost).pipe(retryBeforeFirst({ ...certain, count: 4, initialDelay: 100, maxDelay: 250 })),
      ).toBe('800ms #', undefined, lost);
      expectObservable(cold('#', undefined, busy(2000)).pipe(retryBeforeFirst({ random: () => 1, count: 1 }))).toBe(
        '2s #',
        undefined,
        busy(2000),
      );
      expectObservable(cold('#', undefined, busy(3_600_000)).pipe(retryBeforeFirst({ count: 1 }))).toBe(
        '60s #',
        undefined,
        busy(3_600_000),
      );
    });
  });

  it('does not begin again once something was shown', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst())).toBe('-a-#', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('gives the values of the attempt that succeeds, and then its error if it breaks', () => {
    run(({ expectObservable, cold }) => {
      let attempts = 0;
      const source = defer(() => (attempts++ % 2 === 0 ? throwError(() => lost) : cold('-a-b-|')));
      expectObservable(source.pipe(retryBeforeFirst(certain))).toBe('1001ms a-b-|');
      let others = 0;
      const breaking = defer(() =>
        others++ === 0
          ? throwError(() => lost)
          : concat(
              of('a'),
              throwError(() => lost),
            ),
      );
      expectObservable(breaking.pipe(retryBeforeFirst(certain))).toBe('1s (a#)', undefined, lost);
    });
  });

  it('does not repeat what would fail again, nor a time-out', () => {
    run(({ expectObservable }) => {
      for (const error of [
        new ConfigurationError('apiKey', 'None.', 'Set it.'),
        new TimeoutError('first', 5),
        new Error('other'),
        'text',
        { retryable: 'yes' },
      ]) {
        expectObservable(throwError(() => error).pipe(retryBeforeFirst())).toBe('#', undefined, error);
      }
    });
  });

  it('counts afresh for each subscriber', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<ObservableNotification<string>>('#', undefined, lost);
      const result = source.pipe(retryBeforeFirst({ ...certain, count: 1 }));
      expectObservable(result).toBe('1s #', undefined, lost);
      expectObservable(result, '-^').toBe('1001ms #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '-(^!)', '1s (^!)', '1001ms (^!)']);
    });
  });

  it('makes no further attempt when its reader leaves while it waits', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst(certain)), '^ 500ms !').toBe('');
      expectSubscriptions(source.subscriptions).toBe(['(^!)']);
    });
  });
});
