import { afterEach, describe, expect, it } from '@jest/globals';
import {
  NEVER,
  Observable,
  Subject,
  catchError,
  concat,
  config,
  finalize,
  of,
  range,
  retry,
  switchMap,
  take,
  throwError,
} from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator, subscribeUntilClosed } from '../../lib/core/createOperator.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

describe('createOperator', () => {
  it.each(
    operatorContract(
      createOperator((out) => ({ next: (event) => (typeof event.type === 'string' ? out.next(event) : undefined) })),
      { source: [{ type: 'a' }, { type: 'b' }] },
    ),
  )('createOperator $title', ({ run }) => run());

  it('createOperator creates the state of each subscription', () => {
    const numbered = createOperator<string, string>((out) => {
      let count = 0;
      return { next: (value) => out.next(`${++count}${value}`) };
    });
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
  });

  it('createOperator does not subscribe the source if `start` closes the output', () => {
    let subscribed = 0;
    const source = new Observable<string>(() => {
      subscribed += 1;
    });
    const closing = createOperator<string, string>((out) => {
      out.next('only');
      out.complete();
      return { next: (value) => out.next(value) };
    });
    expect(observe(source.pipe(closing))).toMatchObject({ values: ['only'], completed: true });
    expect(subscribed).toBe(0);
  });

  it('createOperator turns an exception of `start` into an error notification', () => {
    const broken = createOperator<string, string>(() => {
      throw new Error('no state');
    });
    expect(observe(of('a').pipe(broken)).error).toEqual(new Error('no state'));
  });

  it.each(['error', 'complete'] as const)(
    'createOperator turns an exception of the %s handler into an error notification',
    (kind) => {
      const source = new Subject<string>();
      const thrown = new Error('from the handler');
      const broken = createOperator<string, string>((out) => ({
        next: (value) => out.next(value),
        [kind]: () => {
          throw thrown;
        },
      }));
      const output = observe(source.pipe(broken));
      if (kind === 'error') source.error(new Error('first'));
      else source.complete();
      expect(output.error).toBe(thrown);
    },
  );

  it('createOperator unsubscribes the source when a handler completes the output', () => {
    let unsubscribed = false;
    const firstOnly = createOperator<number, number>((out) => ({
      next(value) {
        out.next(value);
        out.complete();
      },
    }));
    const { values, completed } = observe(
      concat(range(0, 3), NEVER).pipe(
        finalize(() => (unsubscribed = true)),
        firstOnly,
      ),
    );
    expect({ values, completed, unsubscribed }).toEqual({ values: [0], completed: true, unsubscribed: true });
  });

  it('createOperator pulls two values through three operators under take(2)', () => {
    let pulled = 0;
    const pass = createOperator<number, number>((out) => ({ next: (value) => out.next(value) }));
    const count = createOperator<number, number>((out) => ({
      next: (value) => {
        pulled++;
        out.next(value);
      },
    }));
    const source = range(0, 1000).pipe(count);
    expect(observe(source.pipe(pass, pass, pass, take(2))).values).toEqual([0, 1]);
    expect(pulled).toBe(2);
  });
});

describe('afterTeardown', () => {
  /** Continues with "next" once the source has completed and is torn down. */
  const thenNext = (log: string[]) =>
    createOperator<string, string>((out) => ({
      next: (value) => out.next(value),
      error() {
        log.push('error'); // the output stays open
      },
      afterTeardown() {
        log.push('next');
        out.complete();
      },
    }));

  it.each<[string, (again: () => Observable<string>) => MonoTypeOperatorFunction<string>]>([
    ['retry', () => retry(1)],
    ['catchError', (again) => catchError(again)],
    [
      'switchMap',
      (again) => (source) =>
        source.pipe(
          catchError(() => of('failed')),
          switchMap(again),
        ),
    ],
  ])('afterTeardown runs after the teardown of a source that %s subscribes later', (_, recover) => {
    const log: string[] = [];
    const opened: Subject<string>[] = [];
    const source = new Observable<string>((out) => {
      const n = opened.push(new Subject());
      log.push(`open ${n}`);
      out.add(() => log.push(`close ${n}`));
      return opened.at(-1)?.subscribe(out);
    });
    const again = () => source;
    const spanned = source.pipe(
      finalize(() => log.push('span')),
      recover(again),
      thenNext(log),
    );
    const result = observe(spanned);
    opened[0]?.error(new Error('reset'));
    opened[1]?.complete();
    expect(log.at(-1)).toBe('next');
    expect(log).toContain('close 2');
    expect(result.completed).toBe(true);
  });

  it('afterTeardown runs after the teardown that a synchronous source returns', () => {
    const log: string[] = [];
    const source = new Observable<string>((out) => {
      out.complete();
      return () => log.push('close');
    });
    observe(source.pipe(thenNext(log)));
    expect(log).toEqual(['close', 'next']);
  });

  it('afterTeardown does not run for a source that fails', () => {
    const log: string[] = [];
    observe(throwError(() => new Error('reset')).pipe(thenNext(log))).subscription.unsubscribe();
    expect(log).toEqual(['error']);
  });

  it('afterTeardown does not run for a source whose `subscribe` throws, and the output fails', () => {
    const fail = (): never => {
      throw new Error('no subscription');
    };
    const broken = Object.assign(new Observable<number>(), { subscribe: fail });
    let ran = false;
    const operator = createOperator<number, number>((out) => ({
      next: (value) => out.next(value),
      afterTeardown: () => (ran = true),
    }));
    expect(observe(broken.pipe(operator)).error).toEqual(new Error('no subscription'));
    expect(ran).toBe(false);
  });

  it('afterTeardown does not run on unsubscribe', () => {
    const log: string[] = [];
    observe(NEVER.pipe(thenNext(log))).subscription.unsubscribe();
    expect(log).toEqual([]);
  });

  it('afterTeardown does not run when the teardown of the source closes the output', () => {
    const log: string[] = [];
    const source = new Subject<string>();
    const { subscription } = observe(
      source.pipe(
        finalize(() => subscription.unsubscribe()),
        thenNext(log),
      ),
    );
    source.complete();
    expect(log).toEqual([]);
  });

  describe('with a teardown function that throws', () => {
    afterEach(() => {
      config.onUnhandledError = null;
    });

    const broken = () => {
      throw new Error('from the teardown');
    };
    const synchronous = () => ({
      source: new Observable<string>((out) => (out.complete(), broken)),
      end: () => undefined,
    });
    const asynchronous = () => {
      const source = new Subject<string>();
      return { source: source.pipe(finalize(broken)), end: () => source.complete() };
    };

    it.each(['complete', 'error'] as const)('RxJS reports the exception if `%s` has no handler', async (end) => {
      const subject = new Subject<string>();
      const source = new Observable<string>((out) => {
        subject.subscribe(out);
        return broken;
      });
      const reported = new Promise((resolve) => (config.onUnhandledError = resolve));
      observe(source.pipe(createOperator<string, string>((out) => ({ next: (value) => out.next(value) }))));
      if (end === 'complete') subject.complete();
      else subject.error(new Error('failed'));
      expect(String(await reported)).toContain('from the teardown');
    });

    it.each<[string, () => { source: Observable<string>; end: () => void }]>([
      ['synchronous', synchronous],
      ['asynchronous', asynchronous],
    ])('afterTeardown runs after a %s source, and RxJS reports the exception', async (_, make) => {
      const log: string[] = [];
      const { source, end } = make();
      const reported = new Promise((resolve) => (config.onUnhandledError = resolve));
      observe(source.pipe(thenNext(log)));
      end();
      expect(log).toEqual(['next']);
      expect(String(await reported)).toContain('from the teardown');
    });
  });
});

describe('subscribeUntilClosed', () => {
  /** Subscribes to a source with subscribeUntilClosed and logs what happens. The output completes after the value `last`. */
  function subscribeLogged<T>(source: Observable<T>, last?: T) {
    const log: string[] = [];
    const output = observe(
      new Observable<T>((out) =>
        subscribeUntilClosed(out, source, {
          next(value) {
            out.next(value);
            if (value === last) out.complete();
          },
          error: (error: unknown) => log.push(`error ${String(error)}`),
          complete: () => log.push('complete'),
          afterTeardown: () => log.push('torn down'),
          afterFailure: () => log.push('torn down after the error'),
        }),
      ),
    );
    return { ...output, log };
  }

  it('subscribeUntilClosed calls afterTeardown when all resources of the source have been released', () => {
    const source = new Subject<string>();
    const { values, log } = subscribeLogged(source.pipe(finalize(() => log.push('source gone'))));
    source.next('a');
    expect(log).toEqual([]);
    source.complete();
    expect(values).toEqual(['a']);
    expect(log).toEqual(['complete', 'source gone', 'torn down']);
  });

  it('subscribeUntilClosed calls afterTeardown for a synchronous source, and afterFailure after an error', () => {
    expect(subscribeLogged(of(1)).log).toEqual(['complete', 'torn down']);
    const failed = new Subject();
    const { log } = subscribeLogged(failed);
    failed.error(new Error('broken'));
    expect(log).toEqual(['error Error: broken', 'torn down after the error']);
  });

  it('subscribeUntilClosed unsubscribes the source with the output, without afterTeardown', () => {
    const source = new Subject();
    const { subscription, log } = subscribeLogged(source);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
    expect(log).toEqual([]);
  });

  it('subscribeUntilClosed unsubscribes a synchronous source in the emission in which the output closes', () => {
    let pulled = 0;
    const counted = new Observable<number>((out) => {
      for (let n = 0; n < 100 && !out.closed; n++) {
        pulled++;
        out.next(n);
      }
    });
    expect(subscribeLogged(counted, 2)).toMatchObject({ values: [0, 1, 2], completed: true, log: [] });
    expect(pulled).toBe(3);
    expect(subscribeLogged(range(0, 1000), 5).values).toHaveLength(6);
  });
});
