import { describe, expect, it, jest } from '@jest/globals';
import { NEVER, finalize, identity, of } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { timeLimit } from '../../lib/core/timeLimit.js';
import { observe } from '../support/observe.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);

describe('timeLimit', () => {
  it('timeLimit errors when a source has not ended in time, even if it keeps emitting', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a---b---c---|');
      expectObservable(source.pipe(timeLimit('turn', 8))).toBe('-a---b--#', undefined, new TimeoutError('turn', 8));
      expectSubscriptions(source.subscriptions).toBe('^-------!');
    });
  });

  it('timeLimit passes on a source that ends in time, and leaves no timer', () => {
    run(({ cold, expectObservable, flush }) => {
      expectObservable(cold('-a-|').pipe(timeLimit('run', 3_600_000))).toBe('-a-|');
      expectObservable(cold('-#').pipe(timeLimit('run', 3_600_000))).toBe('-#');
      expectObservable(NEVER.pipe(timeLimit('run', 3_600_000)), '--!').toBe('---');
      flush();
    });
  });

  it('timeLimit does not fire at once for more milliseconds than a timer supports', () => {
    jest.useFakeTimers();
    try {
      const seen = observe(NEVER.pipe(timeLimit('run', 2 ** 31)));
      jest.advanceTimersByTime(1000);
      expect(seen.error).toBeUndefined();
      seen.subscription.unsubscribe();
    } finally {
      jest.useRealTimers();
    }
  });

  it('timeLimit is the source itself without a limit', () => {
    expect(timeLimit('run')).toBe(identity);
    expect(timeLimit('run', Infinity)).toBe(identity);
  });

  it('timeLimit tears the source down when the time has passed', () => {
    run(({ flush }) => {
      let isGone = false;
      const seen = observe(
        NEVER.pipe(
          finalize(() => (isGone = true)),
          timeLimit('turn', 600_000),
        ),
      );
      flush();
      expect([isGone, seen.error]).toEqual([true, new TimeoutError('turn', 600_000)]);
    });
  });

  it('timeLimit reports a limit that is not a number', () => {
    expect(observe(of(1).pipe(timeLimit('run', Number.NaN))).error).toMatchObject({
      code: 'configuration',
      message: 'timeout.run is NaN. Pass a number of at least 0. Infinity is allowed.',
    });
  });
});
