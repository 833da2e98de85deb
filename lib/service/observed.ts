import { defer, Subject, tap, type MonoTypeOperatorFunction, type Observable, type ObservableInput } from 'rxjs';
import type { RivuletError } from '../core/errors.js';
import type { Checkpoint } from '../core/checkpoint.js';
import type { RunEvent, StreamEvent } from '../core/event.js';
import { reportErrorsOf, reportUnhandled } from '../core/reportUnhandled.js';
import { RequestError } from './http/requestError.js';
import { hasNoOutcome, RunNotFoundError } from './runs/runErrors.js';
import { isReplayed } from './runs/replayed.js';
import { descriptionOf } from './runs/trustedDescription.js';

/** Whose run is observed. */
export interface ObservedRun<C> {
  /** The id of the run: with `agentHandler` and `service.run` that of its record. */
  readonly id: string;
  /** What the option `context` has returned for the request that started or resumed the run. */
  readonly context: C;
  /** The option `name` of the service. */
  readonly agent: string;
  /** The checkpoint from which the run is resumed, for `observeRun`. Absent if it starts. */
  readonly resumed?: Checkpoint | undefined;
}

export interface ObserveOptions<C> {
  /** The name of the agent, for `observe`. Default: `agent`. */
  readonly name?: string | undefined;
  /**
   * Observes each run that this process executes, also one that it resumes: for logs, metrics, traces and bills. It is
   * called once for each, and what it returns is subscribed until the run ends; the returned values are ignored.
   * An error of the observer goes to `onError`, and the run goes on. Default: no run is observed.
   *
   * @param run$ The events of the run, each after the record has what a crash could take back, with everything that a
   * browser does not receive. It completes or fails with the run. A run that is left to another process unsubscribes
   * what was returned. Hot: it may be subscribed more than once, before the function returns.
   */
  readonly observe?:
    | ((run$: Observable<RunEvent>, run: ObservedRun<NoInfer<C>>) => ObservableInput<unknown>)
    | undefined;
  /**
   * Called with each error once: of a run, a port, an observer, or of answering a request. Default: the error is
   * reported to `config.onUnhandledError` of RxJS; if that is not set, it is printed, and the process goes on.
   */
  readonly onError?: ((thrown: unknown) => void) | undefined;
}

/** Passes the events of a run on, and to its observer; its error is reported. */
export function observed<C>(
  { observe, name = 'agent' }: ObserveOptions<C>,
  run: Omit<ObservedRun<C>, 'agent'>,
  onError: (thrown: unknown) => void,
): MonoTypeOperatorFunction<StreamEvent> {
  return (events) =>
    defer(() => {
      if (!observe) return events.pipe(tap({ error: onError }));
      const run$ = new Subject<StreamEvent>();
      let failure: unknown;
      const observer = defer(() =>
        observe(run$.asObservable() as Observable<RunEvent>, { ...run, agent: name }),
      ).subscribe({
        error: (thrown: unknown) => thrown === failure || onError(thrown),
      });
      return events.pipe(
        tap({
          next: (event) => isReplayed(event) || run$.next(event),
          error: (thrown: unknown) => {
            if (hasNoOutcome(thrown)) observer.unsubscribe();
            onError(thrown);
            failure = thrown;
            run$.error(thrown);
          },
          complete: () => run$.complete(),
          unsubscribe: () => observer.unsubscribe(),
        }),
      );
    });
}

/**
 * Reports each error once, whoever sees it: the port, the run, its readers. One that says where the run is now, or that
 * answers a request, and one that another process has described, is not reported.
 */
export function reportOnce(onError: (thrown: unknown) => void = reportUnhandled): (thrown: unknown) => void {
  const reported = new WeakSet<object>();
  const isNoNews = (thrown: object) =>
    hasNoOutcome(thrown) ||
    thrown instanceof RunNotFoundError ||
    (thrown as RivuletError).code === 'ag_ui_request' ||
    thrown instanceof RequestError ||
    descriptionOf(thrown) !== undefined;
  return (thrown) => {
    if (typeof thrown === 'object' && thrown !== null) {
      if (reported.has(thrown) || isNoNews(thrown)) return;
      reported.add(thrown);
    }
    reportErrorsOf(() => onError(thrown));
  };
}
