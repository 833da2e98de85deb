import { concatWith, defer, from, NEVER, take, using } from 'rxjs';
import type { Observable, ObservableInput, Subject } from 'rxjs';
import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';
import { interruptedFinish, openResponse, stopResponse } from '../core/response.js';

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

/** Its completion is not a stop. */
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
