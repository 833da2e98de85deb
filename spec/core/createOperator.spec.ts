import { describe, expect, it } from '@jest/globals';
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
import { createOperator } from '../../lib/core/createOperator.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

describe('createOperator', () => {
  it.each(
    operatorContract(
      createOperator((out) => ({ next: (event) => (typeof event.type === 'string' ? out.next(event) : undefined) })),
      { source: [{ type: 'a' }, { type: 'b' }] },
    ),
  )('createOperator $title', ({ run }) => run());

  it('gives each subscription its own state', () => {
    const numbered = createOperator<string, string>((out) => {
      let n = 0;
      return { next: (value) => out.next(`${++n}${value}`) };
    });
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
  });

  it('turns a throw of the set-up into an error notification', () => {
    const broken = createOperator<string, string>(() => {
      throw new Error('no set-up');
    });
    expect(observe(of('a').pipe(broken)).error).toEqual(new Error('no set-up'));
  });

  it.each(['error', 'complete'] as const)('turns a throw of the %s handler into an error notification', (kind) => {
    const source = new Subject<string>();
    const thrown = new Error('from the handler');
    const broken = createOperator<string, string>((out) => ({
      next: (value) => out.next(value),
      [kind]: () => {
        throw thrown;
      },
    }));
    const seen = observe(source.pipe(broken));
    if (kind === 'error') source.error(new Error('first'));
    else source.complete();
    expect(seen.error).toBe(thrown);
  });

  it('leaves the source when a handler completes the output', () => {
    let left = false;
    const firstOnly = createOperator<number, number>((out) => ({
      next(value) {
        out.next(value);
        out.complete();
      },
    }));
    const { values, completed } = observe(
      concat(range(0, 3), NEVER).pipe(
        finalize(() => (left = true)),
        firstOnly,
      ),
    );
    expect({ values, completed, left }).toEqual({ values: [0], completed: true, left: true });
  });

  it('composes: three of them under take(2) pull two', () => {
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

  describe('afterTeardown', () => {
    /** Emits "next" once the source has completed and is torn down. */
    const thenNext = (log: string[]) =>
      createOperator<string, string>((out) => ({
        next: (value) => out.next(value),
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
    ])('runs after the teardown of a source that %s subscribes late', (_, recover) => {
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

    it('runs after the teardown that a synchronous source returns', () => {
      const log: string[] = [];
      const source = new Observable<string>((out) => {
        out.complete();
        return () => log.push('close');
      });
      observe(source.pipe(thenNext(log)));
      expect(log).toEqual(['close', 'next']);
    });

    it.each<[string, Observable<string>]>([
      ['fails', throwError(() => new Error('reset'))],
      ['never ends', NEVER],
    ])('does not run for a source that %s', (_, source) => {
      const log: string[] = [];
      observe(source.pipe(thenNext(log))).subscription.unsubscribe();
      expect(log).toEqual([]);
    });

    it('does not run when the teardown of the source closes the output', () => {
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

    const broken = () => {
      throw new Error('from the teardown');
    };
    it.each<[string, () => { source: Observable<string>; end: () => void }]>([
      ['synchronous', () => ({ source: new Observable((out) => (out.complete(), broken)), end: () => undefined })],
      [
        'asynchronous',
        () => {
          const source = new Subject<string>();
          return { source: source.pipe(finalize(broken)), end: () => source.complete() };
        },
      ],
    ])('runs when the teardown throws (%s source), and the error is reported as unhandled', async (_, make) => {
      const log: string[] = [];
      const { source, end } = make();
      const reported = new Promise((resolve) => (config.onUnhandledError = resolve));
      observe(source.pipe(thenNext(log)));
      end();
      expect(log).toEqual(['next']);
      expect(String(await reported)).toContain('from the teardown');
      config.onUnhandledError = null;
    });
  });
});
