import { asapScheduler, asyncScheduler, AsyncSubject, defer, EMPTY, finalize, Subscription } from 'rxjs';
import type { Observable } from 'rxjs';

/** How many calls are answered together at most. */
const MAX_BATCH = 100;

/** How long the next batch waits for one that is not answered, in milliseconds: a connection may hang. */
const PATIENCE = 1000;

interface BatchRules<I> {
  /** Calls with the same key are answered one after the other. Default: each has its own. */
  readonly keyOf?: (item: I) => unknown;
  /** The shortest time from the start of a batch to the next one, in milliseconds. Default: 0. */
  readonly pause?: number;
}

interface Call<I, O> {
  readonly item: I;
  readonly answer: AsyncSubject<O>;
}

/**
 * Answers calls of one process together: those that arrive while some are being answered are the next batch, so a busy
 * process has fewer and larger statements, and one that is not busy waits for none.
 *
 * @param together Answers calls, each by its place. If it fails, they are answered one by one: a call that cannot be
 * answered takes no other one along.
 * @param alone Answers one call after that: `together` may have taken effect.
 */
export function createBatches<I, O>(
  together: (items: readonly I[]) => Observable<readonly O[]>,
  alone: (item: I) => Observable<O>,
  { keyOf = (item) => item, pause = 0 }: BatchRules<I> = {},
): (item: I) => Observable<O> {
  const waiting = new Set<Call<I, O>>();
  let isBusy = false;
  /** The time before which no batch begins. */
  let earliest = 0;
  const answerAlone = ({ item, answer }: Call<I, O>): void => {
    alone(item).subscribe(answer);
  };
  const takeBatch = (): readonly Call<I, O>[] => {
    const batch: Call<I, O>[] = [];
    const keys = new Set();
    for (const call of waiting) {
      const key = keyOf(call.item);
      if (!keys.has(key)) batch.push(call);
      keys.add(key);
      if (batch.length === MAX_BATCH) break;
    }
    for (const call of batch) waiting.delete(call);
    return batch;
  };
  const answerBatch = (): void => {
    const batch = takeBatch();
    earliest = asyncScheduler.now() + pause;
    const next = new Subscription(() => {
      isBusy = false;
      answerWaiting();
    });
    if (batch.length > 0) next.add(asyncScheduler.schedule(() => next.unsubscribe(), PATIENCE));
    (batch.length > 0 ? defer(() => together(batch.map(({ item }) => item))) : EMPTY).subscribe({
      next: (values) => {
        for (const [place, { answer }] of batch.entries()) {
          answer.next(values[place] as O);
          answer.complete();
        }
      },
      error: () => {
        next.unsubscribe();
        batch.forEach(answerAlone);
      },
      complete: () => next.unsubscribe(),
    });
  };
  const answerWaiting = (): void => {
    if (isBusy || waiting.size === 0) return;
    isBusy = true;
    const wait = earliest - asyncScheduler.now();
    // Calls of one moment, such as those after a notification, are one batch.
    if (wait > 0) asyncScheduler.schedule(answerBatch, wait);
    else asapScheduler.schedule(answerBatch);
  };
  return (item) =>
    defer(() => {
      const call = { item, answer: new AsyncSubject<O>() };
      waiting.add(call);
      answerWaiting();
      return call.answer.pipe(finalize(() => waiting.delete(call)));
    });
}
