import { Observable, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import { subscribeUntilClosed, type SourceHandlers } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';

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

/** `retry` announces only and `retract` voids. The next source waits for the teardown of the failed one. */
export function continueAfterError<T>(createSelect: () => Select<T>): MonoTypeOperatorFunction<T> {
  return (source) => new Observable<T>((out) => new Attempts(out, createSelect()).subscribeTo(source));
}

type Select<T> = (error: unknown, hasEmitted: boolean) => Observable<T> | undefined;

class Attempts<T> implements SourceHandlers<T> {
  private hasEmitted = false;
  private failure: unknown;

  constructor(
    private readonly out: Subscriber<T>,
    private readonly select: Select<T>,
  ) {}

  /** Not a `catchError` around the next one: any number of asynchronous retries does not nest. */
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
