import { concatWith, defer, from, NEVER, ReplaySubject, take, using } from 'rxjs';
import type { Observable, ObservableInput, Subject } from 'rxjs';
import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';
import { interruptedFinish, openResponse, stopResponse } from '../core/response.js';

export interface StopOptions {
  /**
   * Ends the run with its first value (marbles/createAgent.stop.svg), which may come at the subscription or between two
   * turns: work is aborted, the partial text becomes the message, open calls are answered, and `turn` and `result` have
   * the finish reason `stopped`. Subscribed once per run. Default: never.
   */
  readonly stop?: ObservableInput<unknown> | undefined;
  /**
   * The ids of calls to cancel (`outer/inner` for a call of a sub-agent), while the run continues: also one that waits
   * or was just made. The model receives the code `cancelled`. Unknown ids are ignored. Subscribed once per run.
   * Default: none.
   */
  readonly cancel?: ObservableInput<string> | undefined;
  /**
   * Leaves the run when it is aborted, as unsubscribing does: nothing more is emitted, also no `result`. Subscribers
   * receive the signal's `reason` as an error, so that `firstValueFrom(agent.run(...))` is rejected. Default: no
   * signal.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Subscribes once, for the duration of a run, and remembers the value for late subscribers. */
export function rememberStop<T>(
  notifier: ObservableInput<unknown>,
  run: (stop: Observable<unknown>) => Observable<T>,
): Observable<T> {
  const first = from(notifier).pipe(take(1), concatWith(NEVER)); // its completion is not a stop
  return subscribeBefore(first, () => new ReplaySubject(1), run);
}

/** Subscribes to a notifier once, before a run that may cause its values synchronously. */
export const subscribeBefore = <V, T>(
  notifier: ObservableInput<V>,
  create: () => Subject<V>,
  run: (values: Subject<V>) => Observable<T>,
): Observable<T> =>
  defer(() => {
    const values = create();
    return using(
      () => from(notifier).subscribe(values),
      () => run(values),
    );
  });

/** A model whose streams end at a stop. Unlike an operator inside a turn, it works in any orchestrator. */
export const stoppable = (model: Model, stop: Observable<unknown> | undefined): Model =>
  deriveModel(model, (request) => (stop ? stopResponse(model, request, stop) : openResponse(model, request)));

/** A model whose streams end at a prompt, as at a stop. Tools are not interrupted. */
export const interruptible = (model: Model, prompts: Observable<unknown>): Model =>
  deriveModel(model, (request) => stopResponse(model, request, prompts, interruptedFinish));
