import { describe, expect, it } from '@jest/globals';
import { concat, defer, filter, lastValueFrom, of, pipe, throwError, toArray } from 'rxjs';
import type { ObservableNotification } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConfigurationError, ConnectionError, HttpError } from '../../lib/core/errors.js';
import type { RivuletError } from '../../lib/core/errors.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { isRecord } from '../../lib/core/json/json.js';
import { retryRequest } from '../../lib/protocol/retryRequest.js';
import type { RetryOptions } from '../../lib/protocol/retryRequest.js';
import { observe } from '../support/observe.js';

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
const isNotice = (value: unknown) => isRecord(value) && value['type'] === 'retry';
/** Retries, without the announcements. */
const silently = <T>(options?: RetryOptions) =>
  pipe(
    retryRequest<T>(options),
    filter((value): value is T => !isNotice(value)),
  );
const notice = (attempt: number, delay: number, error: RivuletError = lost) => ({
  type: 'retry',
  attempt,
  delay,
  error: error.toJSON(),
});

describe('retryRequest', () => {
  it.each([NaN, -1])('retryRequest rejects %d as its count', (count) => {
    expect(() => silently({ ...noJitter, count })).toThrow('retry.count is');
  });

  it('retryRequest ends after as many retries as fit into a count that is not an integer', () => {
    run(({ cold, expectObservable }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(silently({ ...noJitter, count: 1.5 }))).toBe('3s #', undefined, lost);
    });
  });

  it('retryRequest retries three times, after 1, 2 and 4 s, and then emits the last error', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(silently(noJitter))).toBe('7s #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '1s (^!)', '3s (^!)', '7s (^!)']);
    });
  });

  it('retryRequest shortens each delay at random, by up to the given share', () => {
    run(({ cold, expectObservable }) => {
      const source = () => cold('#', undefined, lost);
      expectObservable(source().pipe(silently({ random: () => 1 }))).toBe('3500ms #', undefined, lost);
      expectObservable(source().pipe(silently({ random: () => 0.5, jitter: 1, count: 1 }))).toBe(
        '500ms #',
        undefined,
        lost,
      );
      expectObservable(source().pipe(silently({ random: () => 1, jitter: 0, initialDelay: 10 }))).toBe(
        '70ms #',
        undefined,
        lost,
      );
    });
  });

  it('retryRequest retries at once if the server asks for no delay', () => {
    run(({ cold, expectObservable }) => {
      const source = cold('#', undefined, busy(0));
      expectObservable(source.pipe(silently({ ...noJitter, count: 2 }))).toBe('#', undefined, busy(0));
    });
  });

  it('retryRequest fails at once, with `retryAfter`, if the server asks for more than the longest delay', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, busy(60_001));
      expectObservable(source.pipe(retryRequest())).toBe('#', undefined, busy(60_001));
      expectSubscriptions(source.subscriptions).toBe('(^!)');
      expectObservable(cold('#', undefined, busy(60_000)).pipe(silently({ count: 1 }))).toBe(
        '60s #',
        undefined,
        busy(60_000),
      );
      const patient = silently({ count: 1, maxDelay: 3_600_000 });
      expectObservable(cold('#', undefined, busy(60_001)).pipe(patient)).toBe('60001ms #', undefined, busy(60_001));
    });
    expect(busy(60_001).toJSON()).toMatchObject({ retryAfter: 60_001 });
  });

  it('retryRequest obeys the delay that the server asks for, and doubles its own up to the longest one', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(
        cold('#', undefined, lost).pipe(silently({ ...noJitter, count: 4, initialDelay: 100, maxDelay: 250 })),
      ).toBe('800ms #', undefined, lost);
      expectObservable(cold('#', undefined, busy(2000)).pipe(silently({ random: () => 1, count: 1 }))).toBe(
        '2s #',
        undefined,
        busy(2000),
      );
    });
  });

  it('retryRequest does not retry after a value was emitted', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-#', undefined, lost);
      expectObservable(source.pipe(silently())).toBe('-a-#', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('retryRequest emits the values of the attempt that succeeds, and its error if it fails after them', () => {
    run(({ expectObservable, cold }) => {
      let attempts = 0;
      const source = defer(() => (attempts++ % 2 === 0 ? throwError(() => lost) : cold('-a-b-|')));
      expectObservable(source.pipe(silently(noJitter))).toBe('1001ms a-b-|');
      let others = 0;
      const breaking = defer(() =>
        others++ === 0
          ? throwError(() => lost)
          : concat(
              of('a'),
              throwError(() => lost),
            ),
      );
      expectObservable(breaking.pipe(silently(noJitter))).toBe('1s (a#)', undefined, lost);
    });
  });

  it('retryRequest does not retry after an error that is not retryable, nor when the time of a turn has passed', () => {
    run(({ expectObservable }) => {
      for (const error of [
        new ConfigurationError('apiKey', 'None.', 'Set it.'),
        new TimeoutError('turn', 5),
        new Error('other'),
        'text',
        { retryable: 'yes' },
      ]) {
        expectObservable(throwError(() => error).pipe(silently())).toBe('#', undefined, error);
      }
    });
  });

  it('retryRequest counts the retries of each subscriber', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<ObservableNotification<string>>('#', undefined, lost);
      const result = source.pipe(silently({ ...noJitter, count: 1 }));
      expectObservable(result).toBe('1s #', undefined, lost);
      expectObservable(result, '-^').toBe('1001ms #', undefined, lost);
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '-(^!)', '1s (^!)', '1001ms (^!)']);
    });
  });

  it('retryRequest makes no further attempt when it is unsubscribed during a delay', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, lost);
      expectObservable(source.pipe(silently(noJitter)), '^ 500ms !').toBe('');
      expectSubscriptions(source.subscriptions).toBe(['(^!)']);
    });
  });

  it.each(['connect', 'first', 'body'] as const)('retryRequest retries after a timeout of %s', (phase) => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('#', undefined, new TimeoutError(phase, 5));
      expectObservable(source.pipe(silently({ ...noJitter, count: 1 }))).toBe(
        '1s #',
        undefined,
        new TimeoutError(phase, 5),
      );
      expectSubscriptions(source.subscriptions).toBe(['(^!)', '1s (^!)']);
    });
  });

  it('retryRequest announces each retry before its delay, with the error as JSON', () => {
    run(({ cold, expectObservable }) => {
      const source = cold('-#', undefined, lost);
      expectObservable(source.pipe(retryRequest({ ...noJitter, count: 2, initialDelay: 3 }))).toBe(
        '-a---b------#',
        { a: notice(1, 3), b: notice(2, 6) },
        lost,
      );
      expectObservable(cold('#', undefined, busy(2)).pipe(retryRequest({ count: 1 }))).toBe(
        'a-#',
        { a: notice(1, 2, busy(2)) },
        busy(2),
      );
    });
  });

  it('retryRequest announces a delay in whole milliseconds, and waits for as long', () => {
    run(({ cold, expectObservable }) => {
      const options = { count: 1, initialDelay: 7, random: () => 0.5 };
      expectObservable(cold('#', undefined, lost).pipe(retryRequest(options))).toBe(
        'a----#',
        { a: notice(1, 5) },
        lost,
      );
    });
  });

  it('retryRequest reveals of an error that is not its own only the name and the message', async () => {
    const fields = { name: 'AxiosError', retryable: true, toJSON: () => ({ headers: 'sk-secret' }) };
    const foreign = Object.assign(new Error('gone'), fields);
    let attempts = 0;
    const source = defer(() => (attempts++ === 0 ? throwError(() => foreign) : of('a')));
    expect(await lastValueFrom(source.pipe(retryRequest({ initialDelay: 0 }), toArray()))).toEqual([
      { type: 'retry', attempt: 1, delay: 0, error: { name: 'AxiosError', message: 'gone' } },
      'a',
    ]);
  });

  it('retryRequest uses constant stack and memory for any number of retries', () => {
    const depths: number[] = [];
    run(({ cold, flush }) => {
      const failing = cold('#', undefined, lost);
      let attempts = 0;
      const source = defer(() => {
        if (attempts === 5 || attempts === 2000) depths.push((new Error().stack ?? '').split('\n').length);
        return attempts++ < 2000 ? failing : of('a');
      });
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 1000;
      const seen = observe(source.pipe(silently({ count: Infinity, maxDelay: 1 })));
      flush();
      Error.stackTraceLimit = stackTraceLimit;
      expect(seen).toMatchObject({ values: ['a'], completed: true });
    });
    expect(depths[1]).toBe(depths[0]);
  });
});
