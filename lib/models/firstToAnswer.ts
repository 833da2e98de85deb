import { asyncScheduler, filter, Observable, Subject, Subscription, takeUntil } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { subscribeUntilClosed } from '../core/createOperator.js';
import type { Model, Request } from '../core/model.js';
import { isContent } from '../protocol/decodeFrames.js';
import { maxTimerDelay } from '../core/options.js';
import { combinedError, streamOf } from './composite.js';

/**
 * Asks one model after the other, and continues with the first that emits content; the others are unsubscribed.
 *
 * @param models The models, in the order in which they are asked.
 * @param request The request.
 * @param after How long a model may take before the next one is asked as well, in milliseconds. 0: all are asked at
 * once.
 * @returns The chunks of the model that answers, and `retry` notices of any until then. Errors with the error of the
 * only model, or with an AllModelsFailedError.
 */
export function firstToAnswer(models: readonly Model[], request: Request, after: number): Observable<Chunk> {
  return new Observable<Chunk>((out) => {
    const errors: unknown[] = models.map(() => undefined);
    const decided = new Subject<number>();
    let winner: number | undefined; // its index
    let asked = 0;
    let failed = 0;
    let wait = Subscription.EMPTY;
    const isOver = () => winner !== undefined || out.closed;
    out.add(() => wait.unsubscribe());

    const askNext = () => {
      wait.unsubscribe();
      const model = models[asked];
      if (!model || isOver()) return;
      // Before the model is asked: it may fail or answer synchronously.
      if (after > 0) wait = asyncScheduler.schedule(askNext, Math.min(after, maxTimerDelay));
      ask(model, asked++);
      if (after === 0) askNext();
    };
    const ask = (model: Model, index: number) => {
      const held: Chunk[] = []; // until its first content
      const win = () => {
        winner = index;
        wait.unsubscribe();
        decided.next(index);
        for (const chunk of held) out.next(chunk);
      };
      const lost = decided.pipe(filter((decision) => decision !== index));
      subscribeUntilClosed(out, streamOf(model, request).pipe(takeUntil(lost)), {
        next(chunk) {
          if (winner === index || chunk.type === 'retry') {
            out.next(chunk);
            return;
          }
          if (chunk.type === 'retract') held.length = 0;
          else held.push(chunk);
          if (isContent(chunk)) win();
        },
        error(error: unknown) {
          if (winner === index) {
            out.error(error);
            return;
          }
          errors[index] = error;
          failed++;
          if (failed === models.length) out.error(combinedError(models, errors));
          else askNext();
        },
        complete() {
          // Without content only if the model breaks its contract. A model that has lost completes here as well.
          if (winner === undefined) win();
          if (winner === index) out.complete();
        },
      });
    };
    askNext();
  });
}
