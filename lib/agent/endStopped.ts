import { asapScheduler } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { RunEvent, RunState } from '../core/event.js';
import { onFirstValue } from '../core/notifier.js';
import { OpenTurn, stoppedTurn } from './openTurn.js';

/**
 * Ends the turn of any orchestrator when the run is stopped.
 *
 * Most turns end by themselves, synchronously: `stopOn` ends the model's stream, and `executeTools` cancels the calls.
 * A turn that waits for anything else (a timer, a judge, an asynchronous validation) is unsubscribed one microtask
 * later, and what it has emitted is completed: the message with its partial text, the results of its calls, and `turn`.
 * A turn that ends with a `next` state after the stop is the last turn.
 *
 * @param state The state from which the turn started.
 * @param stop Emits when the run is stopped, also to a late subscriber.
 */
export function endStopped(state: RunState, stop: Observable<unknown>): MonoTypeOperatorFunction<RunEvent> {
  return createOperator<RunEvent, RunEvent>((out, source) => {
    const open = new OpenTurn(state);
    let isStopped = false;
    let isOverdue = false; // after the stop, the turn did not end by itself
    let hasEnded = false;
    onFirstValue(out, stop, () => {
      isStopped = true;
      // Later, because a stop inside a synchronous emission takes effect when that emission has returned.
      out.add(
        asapScheduler.schedule(() => {
          isOverdue = true;
          source.unsubscribe();
        }),
      );
    });
    return {
      next(event) {
        if (event.type !== 'turn') {
          open.observe(event);
          out.next(event);
          return;
        }
        hasEnded = true;
        out.next(isStopped && event.next ? stoppedTurn(event) : event);
      },
      afterTeardown() {
        if (isOverdue && !hasEnded) for (const event of open.stop()) out.next(event);
        out.complete();
      },
    };
  });
}
