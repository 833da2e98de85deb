import { describe, expect, it } from '@jest/globals';
import { asapScheduler, concat, defer, finalize, lastValueFrom, observeOn, of, switchMap, throwError } from 'rxjs';
import type { ObservableNotification } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConfigurationError, ConnectionError, HttpError, TimeoutError } from '../../lib/core/errors.js';
import { catchBeforeFirst, retryBeforeFirst } from '../../lib/protocol/retry.js';

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
const noJitter = { random: () => 0 };

describe('retryBeforeFirst', () => {
  it('retryBeforeFirst retries three times, after 1, 2 and 4 s, and then emits the last error', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst(noJitter))).toBe('7s #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '1s (^!)', '3s (^!)', '7s (^!)']);
    });
  });

  it('retryBeforeFirst shortens each delay at random, by up to the given share', () => {
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

  it('retryBeforeFirst obeys the delay that the server asks for, up to the longest one', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(
        cold('#', undefined, lost).pipe(retryBeforeFirst({ ...noJitter, count: 4, initialDelay: 100, maxDelay: 250 })),
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

  it('retryBeforeFirst does not retry after a value was emitted', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst())).toBe('-a-#', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('retryBeforeFirst emits the values of the attempt that succeeds, and its error if it fails after them', () => {
    run(({ expectObservable, cold }) => {
      let attempts = 0;
      const source = defer(() => (attempts++ % 2 === 0 ? throwError(() => lost) : cold('-a-b-|')));
      expectObservable(source.pipe(retryBeforeFirst(noJitter))).toBe('1001ms a-b-|');
      let others = 0;
      const breaking = defer(() =>
        others++ === 0
          ? throwError(() => lost)
          : concat(
              of('a'),
              throwError(() => lost),
            ),
      );
      expectObservable(breaking.pipe(retryBeforeFirst(noJitter))).toBe('1s (a#)', undefined, lost);
    });
  });

  it('retryBeforeFirst does not retry after an error that is not retryable, nor after a timeout', () => {
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

  it('retryBeforeFirst counts the retries of each subscriber', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<ObservableNotification<string>>('#', undefined, lost);
      const result = source.pipe(retryBeforeFirst({ ...noJitter, count: 1 }));
      expectObservable(result).toBe('1s #', undefined, lost);
      expectObservable(result, '-^').toBe('1001ms #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '-(^!)', '1s (^!)', '1001ms (^!)']);
    });
  });

  it('retryBeforeFirst makes no further attempt when it is unsubscribed during a delay', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(retryBeforeFirst(noJitter)), '^ 500ms !').toBe('');
      expectSubscriptions(source.subscriptions).toBe(['(^!)']);
    });
  });
});

describe('catchBeforeFirst', () => {
  it('catchBeforeFirst continues with the other source, after the first one is gone', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('--#');
      const other = cold('  -a-|');
      expectObservable(source.pipe(catchBeforeFirst((error) => (error === 'error' ? other : undefined)))).toBe(
        '---a-|',
      );
      expectSubscriptions(source.subscriptions).toBe('^-!');
      expectSubscriptions(other.subscriptions).toBe('--^--!');
    });
  });

  it.each([
    ['synchronously', throwError(() => lost)],
    ['later', throwError(() => lost).pipe(observeOn(asapScheduler))],
    [
      'later and is subscribed late',
      of(1).pipe(
        observeOn(asapScheduler),
        switchMap(() => throwError(() => lost)),
      ),
    ],
  ])('catchBeforeFirst subscribes the other source after the teardown of one that fails %s', async (_, failing) => {
    const order: string[] = [];
    const source = failing.pipe(finalize(() => order.push('first is gone')));
    const other = defer(() => of(order.push('other begins')));
    await lastValueFrom(source.pipe(catchBeforeFirst(() => other)));
    expect(order).toEqual(['first is gone', 'other begins']);
  });

  it('catchBeforeFirst emits an error for which there is no other source, and one that follows a value', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-#').pipe(catchBeforeFirst(() => undefined))).toBe('-#');
      expectObservable(cold('-a#').pipe(catchBeforeFirst(() => cold('b|')))).toBe('-a#');
      expectObservable(cold('-#').pipe(catchBeforeFirst(() => cold('b#')))).toBe('-b#');
    });
  });

  it('catchBeforeFirst has its own state for each subscriber, and is unsubscribed with it', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#');
      const other = cold('-a-|');
      const result = source.pipe(catchBeforeFirst(() => other));
      expectObservable(result).toBe('-a-|');
      expectObservable(result, '^-!').toBe('-a');
      expectSubscriptions(other.subscriptions).toBe(['^--!', '^-!']);
    });
  });
});
