import { Observable } from 'rxjs';
import type { MonoTypeOperatorFunction, Subscriber } from 'rxjs';
import { subscribeUntilClosed } from '../core/createOperator.js';
import type { SourceHandlers } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';

/**
 * Continues with another source after an error, as long as nothing was emitted.
 *
 * ```
 * source   --#
 * other      --a-|   what `select` returns for the error
 * result   ----a-|
 * ```
 *
 * @param select Returns the other source for an error, or undefined if there is none: the error is then emitted.
 * @returns The values of the source, or of the other one. Fails with the error of the other one, if it fails.
 */
export function catchBeforeFirst<T>(
  select: (error: unknown) => Observable<T> | undefined,
): MonoTypeOperatorFunction<T> {
  return continueAfterError(() => {
    let isFirst = true;
    return (error, hasEmitted) => {
      if (hasEmitted || !isFirst) return undefined;
      isFirst = false;
      return select(error);
    };
  });
}

/**
 * Continues with another source after each error, also after the error of such a source.
 *
 * The selection is called for each error, with whether the output has values that are still valid: `retry` announces
 * only, and `retract` voids what precedes it. The other source is subscribed when the resources of the failed one are
 * released.
 *
 * @param createSelect Is called at each subscription, so that a selection can count. A selection returns the other
 * source for an error, or undefined if there is none: the error is then emitted.
 * @returns The values of all sources, in order.
 */
export function continueAfterError<T>(createSelect: () => Select<T>): MonoTypeOperatorFunction<T> {
  return (source) => new Observable<T>((out) => new Attempts(out, createSelect()).subscribeTo(source));
}

/** Returns the source that continues after an error. */
type Select<T> = (error: unknown, hasEmitted: boolean) => Observable<T> | undefined;

/** Forwards one source after the other. */
class Attempts<T> implements SourceHandlers<T> {
  private hasEmitted = false;
  /** The error of the current source. */
  private failure: unknown;

  constructor(
    private readonly out: Subscriber<T>,
    private readonly select: Select<T>,
  ) {}

  /** Not a `catchError` around the next one, so that any number of asynchronous retries does not nest. */
  subscribeTo(source: Observable<T>): void {
    subscribeUntilClosed(this.out, source, this);
  }

  /** `tap` and `catchError` in one: one call less on the path of every delta. */
  next(value: T): void {
    const type = (value as Partial<StreamEvent> | null | undefined)?.type;
    if (type !== 'retry') this.hasEmitted = type !== 'retract';
    this.out.next(value);
  }

  error(thrown: unknown): void {
    this.failure = thrown;
  }

  afterFailure(): void {
    const other = this.select(this.failure, this.hasEmitted);
    if (other) this.subscribeTo(other);
    else this.out.error(this.failure);
  }
}
