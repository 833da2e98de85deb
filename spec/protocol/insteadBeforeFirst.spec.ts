import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import { catchBeforeFirst } from '../../lib/protocol/retry.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);

describe('insteadBeforeFirst', () => {
  it('goes on with the other source after an error that there is one for, and leaves the first', () => {
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

  it('lets an error stand that there is no other source for, or that comes after something was shown', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-#').pipe(catchBeforeFirst(() => undefined))).toBe('-#');
      expectObservable(cold('-a#').pipe(catchBeforeFirst(() => cold('b|')))).toBe('-a#');
      expectObservable(cold('-#').pipe(catchBeforeFirst(() => cold('b#')))).toBe('-b#');
    });
  });

  it('begins anew for each subscriber, and is gone with it', () => {
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
