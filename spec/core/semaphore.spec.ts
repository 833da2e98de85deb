import { describe, expect, it, jest } from '@jest/globals';
import {
  asapScheduler,
  combineLatest,
  defer,
  EMPTY,
  finalize,
  forkJoin,
  merge,
  NEVER,
  Observable,
  of,
  Subject,
  takeUntil,
  throwError,
} from 'rxjs';
import type { Subscription } from 'rxjs';
import { createSemaphore } from '../../lib/core/semaphore.js';
import { observe } from '../support/observe.js';

const stop = new Subject<void>();

/** When a place is free after a source was unsubscribed. */
const microtask = () => new Promise<void>((resolve) => asapScheduler.schedule(() => resolve()));

describe('createSemaphore', () => {
  it('a semaphore subscribes sources in order, as places become free', () => {
    const semaphore = createSemaphore(2);
    const sources = ['a', 'b', 'c', 'd'].map(() => new Subject<number>());
    const runs = sources.map((source) => observe(source.pipe(semaphore.limit())));
    const observed = () => sources.map((source) => source.observed);
    expect(observed()).toEqual([true, true, false, false]);
    sources[1]?.next(1);
    sources[1]?.complete();
    expect(observed()).toEqual([true, false, true, false]);
    sources[0]?.error(new Error('broken'));
    expect(observed()).toEqual([false, false, true, true]);
    expect(runs.map(({ values, error, completed }) => ({ values, error, completed }))).toEqual([
      { values: [], error: new Error('broken'), completed: false },
      { values: [1], error: undefined, completed: true },
      { values: [], error: undefined, completed: false },
      { values: [], error: undefined, completed: false },
    ]);
  });

  it.each<[string, (run: Subscription, source: Subject<number>) => void]>([
    ['unsubscribed', (run) => run.unsubscribe()],
    ['complete', (_, source) => source.complete()],
    ['failed', (_, source) => source.error(new Error('broken'))],
  ])('a source that had to wait is torn down before the next one starts when it is %s', async (_, end) => {
    const semaphore = createSemaphore(1);
    const log: string[] = [];
    const start = (name: string) => {
      const source = new Subject<number>();
      const opened = defer(() => {
        log.push(`open ${name}`);
        return source.pipe(finalize(() => log.push(`close ${name}`)));
      });
      return { source, run: observe(opened.pipe(semaphore.limit())).subscription };
    };
    const first = start('1');
    const second = start('2');
    start('3');
    first.run.unsubscribe();
    await microtask();
    end(second.run, second.source);
    await microtask();
    expect(log).toEqual(['open 1', 'close 1', 'open 2', 'close 2', 'open 3']);
  });

  it('a semaphore frees a place once when a source is unsubscribed, and forgets one that waits', () => {
    const semaphore = createSemaphore(1);
    const first = observe(NEVER.pipe(semaphore.limit())).subscription;
    const second = new Subject<number>();
    const waiting = observe(second.pipe(semaphore.limit())).subscription;
    expect(semaphore.isFull).toBe(true);
    waiting.unsubscribe();
    first.unsubscribe();
    first.unsubscribe();
    expect(semaphore.isFull).toBe(false);
    expect(second.observed).toBe(false);
    expect(observe(of(1).pipe(semaphore.limit())).values).toEqual([1]);
    expect(semaphore.isFull).toBe(false);
  });

  it('a semaphore frees a place that a source takes and leaves in the same call', () => {
    const semaphore = createSemaphore(1);
    const failing = throwError(() => new Error('broken')).pipe(semaphore.limit());
    expect(observe(failing).error).toEqual(new Error('broken'));
    expect(observe(failing).error).toEqual(new Error('broken'));
  });

  it.each<[string, (runs: Subscription) => void]>([
    ['unsubscribed', (runs) => runs.unsubscribe()],
    ['unsubscribed by a value', () => stop.next()],
  ])('a semaphore begins none of those that wait when all of them are %s', async (_, leave) => {
    const semaphore = createSemaphore(1);
    const begun: number[] = [];
    const source = (index: number) =>
      defer(() => {
        begun.push(index);
        return NEVER;
      }).pipe(semaphore.limit());
    leave(
      merge(...[1, 2, 3].map(source))
        .pipe(takeUntil(stop))
        .subscribe(),
    );
    await microtask();
    expect([begun, semaphore.isFull]).toEqual([[1], false]);
  });

  const failed = throwError(() => new Error('broken'));
  it.each<[string, (limited: Observable<number>) => Observable<unknown>]>([
    ['forkJoin, after an error', (limited) => forkJoin([failed, limited])],
    ['forkJoin, after an empty source', (limited) => forkJoin([EMPTY, limited])],
    ['combineLatest, after an error', (limited) => combineLatest([failed, limited])],
    [
      'a source that goes on after its end',
      (limited) => new Observable((out) => (out.complete(), limited.subscribe(out))),
    ],
  ])('a semaphore gives no place to a subscriber that is closed: %s', (_, join) => {
    const [free, full] = [createSemaphore(1), createSemaphore(1)];
    let subscribed = 0;
    const source = defer(() => of(++subscribed));
    observe(join(source.pipe(free.limit())));
    expect([free.isFull, subscribed]).toEqual([false, 0]);
    expect(observe(source.pipe(free.limit())).values).toEqual([1]);
    const holder = observe(NEVER.pipe(full.limit())).subscription;
    observe(join(source.pipe(full.limit())));
    holder.unsubscribe();
    expect([full.isFull, subscribed]).toEqual([false, 1]);
  });

  it('a semaphore does not subscribe a source that waits for a place which its own teardown frees', () => {
    const semaphore = createSemaphore(1);
    const waiting = jest.fn(() => NEVER);
    const { subscription } = observe(
      new Observable<never>((out) => {
        out.add(NEVER.pipe(semaphore.limit()).subscribe());
        defer(waiting).pipe(semaphore.limit()).subscribe(out);
      }),
    );
    subscription.unsubscribe();
    expect(waiting).not.toHaveBeenCalled();
    expect(semaphore.isFull).toBe(false);
  });

  it('a semaphore frees a place before the completion is emitted', () => {
    const semaphore = createSemaphore(1);
    const source = new Subject<never>();
    const wasFull: boolean[] = [];
    for (const each of [source, EMPTY])
      each.pipe(semaphore.limit()).subscribe({ complete: () => wasFull.push(semaphore.isFull) });
    source.complete();
    expect(wasFull).toEqual([false, false]);
  });

  it('a semaphore runs 20,000 waiting synchronous sources without nesting them', () => {
    const semaphore = createSemaphore(1);
    const gate = new Subject<number>();
    let ended = 0;
    observe(gate.pipe(semaphore.limit()));
    for (let n = 0; n < 20_000; n++)
      of(n)
        .pipe(semaphore.limit())
        .subscribe({ complete: () => ended++ });
    expect(ended).toBe(0);
    gate.complete();
    expect(ended).toBe(20_000);
  });
});
