import { asapScheduler } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { RunEvent, RunState } from '../core/event.js';
import { onFirstValue } from '../core/notifier.js';
import { OpenTurn, stoppedTurn } from './openTurn.js';

/**
 * Ends a turn after the stop of its run. Most turns then end by themselves, at once. One that still waits (for a timer,
 * a judge) is unsubscribed one microtask later, and completed here. No turn follows: the `next` of its end is removed.
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
