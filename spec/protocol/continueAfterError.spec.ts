import { describe, expect, it } from '@jest/globals';
import { asapScheduler, defer, finalize, lastValueFrom, observeOn, of, switchMap, throwError } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConnectionError } from '../../lib/core/errors.js';
import { catchBeforeFirst, continueAfterError } from '../../lib/protocol/continueAfterError.js';
import { observe } from '../support/observe.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
const lost = new ConnectionError('toy', 'gone');

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

describe('continueAfterError', () => {
  it('continueAfterError passes each error on to `select`, with whether values are still valid', () => {
    run(({ cold, expectObservable, flush }) => {
      const calls: unknown[] = [];
      const values = { a: { type: 'text' }, n: { type: 'retry' }, x: { type: 'retract' } };
      const others = [cold('n#', values, 'second'), cold('xn#', values, 'third'), undefined];
      const select = (error: unknown, hasEmitted: boolean) => {
        calls.push([error, hasEmitted]);
        return others.shift();
      };
      expectObservable(cold('a#', values, 'first').pipe(continueAfterError(() => select))).toBe(
        'anxn#',
        values,
        'third',
      );
      flush();
      expect(calls).toEqual([
        ['first', true],
        ['second', true],
        ['third', false],
      ]);
    });
  });

  it('continueAfterError emits an error that `select` throws', () => {
    const thrown = new Error('select');
    const result = throwError(() => lost).pipe(
      continueAfterError(() => () => {
        throw thrown;
      }),
    );
    expect(observe(result).error).toBe(thrown);
  });
});
