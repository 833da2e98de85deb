import { describe, expect, it } from '@jest/globals';
import {
  EMPTY,
  NEVER,
  Observable,
  Subject,
  concat,
  finalize,
  from,
  of,
  repeat,
  retry,
  take,
  throwError,
  toArray,
} from 'rxjs';
import type { MonoTypeOperatorFunction, OperatorFunction, Subscriber } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';

export type AnyOperator = OperatorFunction<StreamEvent, StreamEvent>;

/** Collects what an Observable emits, and how it ends. */
export function observe<T>(source: Observable<T>) {
  const seen = { values: [] as T[], error: undefined as unknown, completed: false, closed: () => subscription.closed };
  const subscription = source.subscribe({
    next: (value) => seen.values.push(value),
    error: (error: unknown) => (seen.error = error),
    complete: () => (seen.completed = true),
  });
  return Object.assign(seen, { subscription });
}

/** An endless synchronous source that counts what was pulled from it. */
export function counting(make: (n: number) => StreamEvent) {
  const count = { pulled: 0, subscribed: 0, torndown: 0 };
  const source = new Observable<StreamEvent>((out: Subscriber<StreamEvent>) => {
    count.subscribed++;
    while (!out.closed && count.pulled < 100_000) out.next(make(++count.pulled));
    return () => count.torndown++;
  });
  return { count, source };
}

/**
 * What every operator of ours has to keep (DESIGN section 2, rules 2, 4, 5; section 3): called in the spec of each.
 *
 * @param make A fresh operator.
 * @param turn The chunks or events of one ordinary turn, whose output must be the same at every subscription.
 */
export function itKeepsTheOperatorContract(make: () => AnyOperator, turn: readonly StreamEvent[]): void {
  describe('the contract of an operator', () => {
    const own = { type: 'myOwn', data: { deep: [1] } };

    it('passes events that it does not know, the very objects, in order', () => {
      const others = [own, { type: 'somethingElse' }, own];
      const { values, completed } = observe(from(others).pipe(make()));
      expect(values).toEqual(others);
      values.forEach((value, at) => expect(value).toBe(others[at]));
      expect(completed).toBe(true);
    });

    it('is subscribed nothing when the subscriber is closed already', () => {
      const { count, source } = counting(() => own);
      observe(source.pipe(make(), take(0)));
      expect(count.subscribed).toBe(0);
    });

    it('pulls one value of a synchronous source under take(1), and tears the source down', () => {
      const { count, source } = counting(() => own);
      expect(observe(source.pipe(make(), take(1))).values).toEqual([own]);
      expect(count).toEqual({ pulled: 1, subscribed: 1, torndown: 1 });
    });

    it('turns a throw within into an error notification, after what was emitted, and lets the source go', () => {
      const broken = {
        get type(): string {
          throw new Error('a getter threw');
        },
      };
      let left = false;
      const source = concat(of(own, broken), NEVER).pipe(finalize(() => (left = true)));
      const { values, error } = observe(source.pipe(make()));
      expect(values).toEqual([own]);
      expect(error).toEqual(new Error('a getter threw'));
      expect(left).toBe(true);
    });

    it('passes an error of the source on, after all that was emitted', () => {
      const failure = new Error('reset');
      const { values, error } = observe(
        concat(
          of(own),
          throwError(() => failure),
        ).pipe(make()),
      );
      expect(values).toEqual([own]);
      expect(error).toBe(failure);
    });

    it('emits an event in the very call in which it comes, and leaves the source when it is left', () => {
      const source = new Subject<StreamEvent>();
      const { values, subscription } = observe(source.pipe(make()));
      source.next(own);
      expect(values).toEqual([own]);
      subscription.unsubscribe();
      expect(source.observed).toBe(false);
    });

    it('has its state per subscription: twice, by repeat, and by retry', () => {
      const operator = make();
      const once = () => from(turn).pipe(operator, toArray());
      const [first] = observe(once()).values;
      expect(first?.length).toBeGreaterThan(0);
      expect(observe(once()).values).toEqual([first]);
      expect(observe(from(turn).pipe(operator, repeat(2))).values).toEqual([...(first ?? []), ...(first ?? [])]);

      let attempts = 0;
      const cut = turn.slice(0, -1);
      const failing = new Observable<StreamEvent>((out) =>
        concat(
          from(attempts === 0 ? cut : turn),
          attempts++ === 0 ? throwError(() => new Error('first')) : EMPTY,
        ).subscribe(out),
      );
      const { values } = observe(failing.pipe(operator, retry(1)));
      expect(values.slice(-(first?.length ?? 0))).toEqual(first);
    });

    it('tears the source down before what was added downstream', () => {
      const order: string[] = [];
      const source = new Subject<StreamEvent>();
      const up: MonoTypeOperatorFunction<StreamEvent> = finalize(() => order.push('source'));
      source
        .pipe(
          up,
          make(),
          finalize(() => order.push('result')),
        )
        .subscribe();
      source.complete();
      expect(order).toEqual(['source', 'result']);
    });
  });
}
