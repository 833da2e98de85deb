import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { RunObservation, type RunObserver } from './runObserver.js';

/**
 * Calls an observer at each start and each end of a run, its turns, its requests and its tools, and at each retry.
 *
 * <span class="informal">`tap` for a run, with durations: for logs and metrics.</span>
 *
 * ![](../../marbles/observeRun.svg)
 *
 * The events pass through unchanged. Each start is followed by exactly one end, also if the run fails, is stopped or is
 * unsubscribed: what is open then ends first, from the inside to the outside. After the end of the run nothing is
 * called. Each subscription is observed on its own. Times are those of RxJS's clock, so they can be virtual.
 *
 * All calls follow from the events. A turn starts at the subscription, or after the `turn` event of the previous turn
 * (with its first event, if that `turn` event is a copy: after `map`, or from a server). A request starts with its turn
 * and ends with the model's message; if a turn asks the model again, the next request starts with its first event.
 * Calls that are answered without being executed have no start, and so no end.
 *
 * As with `tap`, an exception of the observer becomes an error notification, and the run is unsubscribed.
 *
 * ```ts
 * agent.stream('How warm is it in Oslo?').pipe(
 *   observeRun({
 *     requestEnd: ({ turn, timeToFirstChunk }) => console.log(`turn ${turn}: answers after ${timeToFirstChunk} ms`),
 *     toolEnd: ({ name, duration, event }) => console.log(`${name}: ${event?.code ?? 'ok'}, ${duration} ms`),
 *     retry: ({ attempt, delay }) => console.warn(`retry ${attempt} in ${delay} ms`),
 *     runEnd: ({ outcome, duration, usage }) => console.log(outcome, `${duration} ms`, usage),
 *   }),
 * );
 * ```
 *
 * @param observer `runStart`, `runEnd`, `turnStart`, `turnEnd`, `requestStart`, `requestEnd`, `retry`, `retract`,
 * `toolStart`, `toolEnd`.
 * @param resumed The checkpoint of a resumed run: its turns are counted, and no request is reported for its open calls.
 * Default: a new run.
 * @returns A function that returns an Observable of the source's events.
 */
export function observeRun<E extends StreamEvent>(
  observer: RunObserver,
  resumed?: Checkpoint,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    const run = new RunObservation(observer, resumed);
    const fail = (error: unknown) => {
      run.end({ outcome: 'failed', error });
      out.error(error);
    };
    const observe = (work: () => void) => {
      try {
        work();
      } catch (thrown) {
        fail(thrown);
      }
    };
    out.add(() => run.end({ outcome: 'unsubscribed' }));
    observe(() => run.start());
    return {
      next(event) {
        observe(() => run.before(event));
        out.next(event);
        observe(() => run.after(event));
      },
      error: fail,
      complete() {
        observe(() => run.end({ outcome: 'completed' }));
        out.complete();
      },
    };
  });
}
