import { asapScheduler, concatWith, defer, filter, from, fromEvent, map, NEVER, share, startWith } from 'rxjs';
import { take, takeUntil, using } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable, ObservableInput, Subject } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { deriveModel } from '../core/deriveModel.js';
import type { RunEvent, RunState } from '../core/event.js';
import type { Model } from '../core/model.js';
import { onFirstValue } from '../core/notifier.js';
import { interruptedFinish, openResponse, stopResponse } from '../core/response.js';
import { OpenTurn, stoppedTurn } from './openTurn.js';

// The stop of a run ends the open response (`stoppable`), the running tools (`executeTools` receives it), and the rest
// of the turn (`stopTurn`). No turn follows.

/** Options that end a run, or one of its calls, early. */
export interface StopOptions {
  /**
   * Ends the run with its first value.
   *
   * ![](../../marbles/createAgent.stop.svg)
   *
   * The request and the running tools are aborted, the partial text becomes the model's message, the open calls are
   * answered, and `turn` and `result` have the finish reason `stopped`. It is subscribed once per run. A value that it
   * emits when it is subscribed, or between two turns, counts: no further request is sent. Default: never.
   */
  readonly stop?: ObservableInput<unknown> | undefined;
  /**
   * The ids of calls to cancel. The run continues.
   *
   * A running call is aborted; a call that waits for its turn or for `approve`, or that the model has just made, is not
   * executed. The model receives an answer with the code `cancelled`. The id of a call of a sub-agent is a path: the
   * call's id in the run, `/`, and its id in the inner run. An id that the turn does not have is ignored. It is
   * subscribed once per run. Default: no call is cancelled.
   */
  readonly cancel?: ObservableInput<string> | undefined;
  /**
   * Leaves the run when it is aborted, as unsubscribing does: the request and the running tools are aborted, and no
   * further event is emitted, also no `result`. Subscribers receive an error, the signal's `reason` (by default an
   * `AbortError`, as from `fetch`), so that `firstValueFrom(agent.run(...))` is rejected with it. Default: no signal.
   */
  readonly signal?: AbortSignal | undefined;
}

/** A notifier that completes without a value stops nothing. */
export const firstOf = (notifier: ObservableInput<unknown>): Observable<unknown> =>
  from(notifier).pipe(take(1), concatWith(NEVER));

/** Subscribes a notifier once, before a run that may cause its values synchronously, and for the duration of it. */
export const withNotifier = <V, T>(
  notifier: ObservableInput<V> | undefined,
  create: () => Subject<V>,
  run: (values?: Subject<V>) => Observable<T>,
): Observable<T> =>
  notifier
    ? defer(() => {
        const values = create();
        return using(
          () => from(notifier).subscribe(values),
          () => run(values),
        );
      })
    : run();

/** Unlike an operator inside a turn, this works in any orchestrator. */
export const stoppable = (model: Model, stop: Observable<unknown> | undefined): Model =>
  deriveModel(model, (request) => (stop ? stopResponse(model, request, stop) : openResponse(model, request)));

/** A prompt ends a response as a stop does. Tools are not interrupted. */
export const interruptible = (model: Model, prompts: Observable<unknown>): Model =>
  deriveModel(model, (request) => stopResponse(model, request, prompts, interruptedFinish));

/**
 * Ends a turn after the stop of its run. Most turns then end by themselves, at once. One that still waits (for a timer,
 * a judge) is unsubscribed one microtask later, and completed here. No turn follows: the `next` of its end is removed.
 */
export function stopTurn(state: RunState, stop: Observable<unknown>): MonoTypeOperatorFunction<RunEvent> {
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

/** Fails with the signal's reason, as `fetch` does; if it is already aborted, the source is not subscribed. */
export function leaveOn<T>(signal: AbortSignal): MonoTypeOperatorFunction<T> {
  const aborted = abortEvents(signal).pipe(
    startWith(undefined), // it may be aborted already
    filter(() => signal.aborted),
    map(() => {
      throw signal.reason;
    }),
  );
  return takeUntil(aborted);
}

const shared = new WeakMap<AbortSignal, Observable<unknown>>();

/** All runs share one listener: Node warns of a leak when a signal has more than ten. */
function abortEvents(signal: AbortSignal): Observable<unknown> {
  const events = shared.get(signal) ?? fromEvent(signal, 'abort').pipe(share());
  shared.set(signal, events);
  return events;
}
