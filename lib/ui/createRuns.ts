import {
  asyncScheduler,
  defer,
  finalize,
  ignoreElements,
  merge,
  onErrorResumeNext,
  ReplaySubject,
  Subscription,
  throwError,
} from 'rxjs';
import type { Observable, Subject } from 'rxjs';
import { RivuletError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { maxTimerDelay, requireNumber } from '../core/options.js';
import type { Envelope } from './eventLog.js';
import { randomId } from './randomId.js';
import { shareRun } from './shareRun.js';
import type { SharedRun } from './shareRun.js';

/** Options of `createRuns`. */
export interface RunsOptions {
  /**
   * How long a run goes on without a subscriber, in milliseconds. Then it is stopped, and ends with its result; if it
   * does not listen to `stop`, it is unsubscribed after another such time. Default: 60000.
   */
  readonly grace?: number | undefined;
  /** How long the events of a run remain available after its end, in milliseconds. Default: 60000. */
  readonly keep?: number | undefined;
}

/** A run of a registry. */
export interface RegisteredRun<E extends StreamEvent = StreamEvent> {
  /** Nobody can guess it, so it can be the only thing that a browser needs to join the run. */
  readonly id: string;
  readonly run: SharedRun<E>;
}

/** The runs of a service, by their ids. */
export interface Runs {
  /**
   * Starts a run, unless there is one with this id: a request that a client repeats joins the run.
   *
   * @param create Creates the run. It receives the notifier that `stop` triggers: pass it as the run's option `stop`.
   * @param id The id of the run. Default: a random one.
   */
  start<E extends StreamEvent>(create: (stop: Observable<void>) => Observable<E>, id?: string): RegisteredRun<E>;
  /** The run with this id; undefined if there is none, or if it ended longer than `keep` ago. */
  get(id: string): SharedRun | undefined;
  /**
   * The events of a run, with their ids.
   *
   * @param id The id of the run.
   * @param after The id of the last event that was received. Default: the start of the run.
   * @returns The envelopes. It fails with a RunNotFoundError if there is no such run.
   */
  attach(id: string, after?: string): Observable<Envelope>;
  /** Stops a run: it ends with a result. Returns whether there is a run with this id. */
  stop(id: string): boolean;
  /**
   * Ends the service, for `SIGTERM`. Completes when all runs have ended; runs that are started later are stopped at
   * once.
   *
   * @param how `finish`: waits for the runs; `stop`: stops each, so that it ends with a result; `abandon`: unsubscribes
   * them, for runs that go on elsewhere from their checkpoints. Default: `stop`.
   */
  shutdown(how?: 'finish' | 'stop' | 'abandon'): Observable<never>;
}

/** There is no run with this id: it never existed, or its events are no longer kept. */
export class RunNotFoundError extends RivuletError {
  override readonly name = 'RunNotFoundError';
  readonly code = 'run_not_found';

  constructor() {
    super('The run is not known: it ended some time ago, or the service has restarted. Ask again.');
  }
}

/**
 * Creates a registry of shared runs: a service starts them, and browsers join, leave and stop them by id.
 *
 * <span class="informal">Reload the page in the middle of an answer, and it goes on.</span>
 *
 * ```ts
 * const runs = createRuns({ grace: 30_000 });
 * const { id } = runs.start((stop) => agent.stream('How warm is it in Oslo?', { stop }));
 * runs.attach(id).pipe(toServerSentEvents());
 * process.once('SIGTERM', () => runs.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param options `grace` and `keep` in milliseconds (default: 60000 each).
 * @returns The registry. It is in memory: with several processes, the requests of a run must reach the same one.
 */
export function createRuns({ grace = 60_000, keep = 60_000 }: RunsOptions = {}): Runs {
  requireNumber('keep', keep, 0);
  const entries = new Map<string, { readonly run: SharedRun; readonly stop: Subject<void> }>();
  const forgetting = new Subscription();
  let isClosing = false;

  const forgetLater = (id: string) => {
    if (isClosing || keep === Infinity) return;
    const forget = () => {
      entries.delete(id);
      forgetting.remove(action); // an action that has run does not leave its parent
    };
    const action = asyncScheduler.schedule(forget, Math.min(keep, maxTimerDelay));
    forgetting.add(action);
  };
  const start = <E extends StreamEvent>(create: (stop: Observable<void>) => Observable<E>, id = randomId()) => {
    const known = entries.get(id);
    if (known) return { id, run: known.run as SharedRun<E> };
    const stop = new ReplaySubject<void>(1); // a run may subscribe to it late, after its store has written
    const run = shareRun(defer(() => create(stop)).pipe(finalize(() => forgetLater(id))), {
      grace,
      stop: () => stop.next(),
    });
    entries.set(id, { run, stop });
    run.start();
    if (isClosing) stop.next();
    return { id, run };
  };
  return {
    start,
    get: (id) => entries.get(id)?.run,
    attach: (id, after) => entries.get(id)?.run.envelopes(after) ?? throwError(() => new RunNotFoundError()),
    stop(id) {
      const entry = entries.get(id);
      entry?.stop.next();
      return entry !== undefined;
    },
    shutdown: (how = 'stop') =>
      defer(() => {
        isClosing = true;
        forgetting.unsubscribe();
        const running = [...entries.values()].filter(({ run }) => run.status === 'running');
        const ends = running.map(({ run }) => onErrorResumeNext(run.events$));
        for (const { run, stop } of running) {
          if (how === 'stop') stop.next();
          if (how === 'abandon') run.unsubscribe();
        }
        return merge(...ends).pipe(ignoreElements());
      }),
  };
}
