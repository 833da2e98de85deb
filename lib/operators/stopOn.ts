import { from, isObservable, map, Observable, ReplaySubject, take } from 'rxjs';
import type { ObservableInput, OperatorFunction, Subscriber } from 'rxjs';
import type { Chunk, FinishChunk } from '../core/chunk.js';
import type { StreamEvent } from '../core/event.js';
import { finishOn, stoppedFinish } from '../core/response.js';
import type { OfType } from '../core/typesOf.js';

/**
 * Replaces the rest of a model's stream by a `finish` with the reason `stopped`, when a notifier emits.
 *
 * <span class="informal">`takeUntil` for a model: the turn ends, with what has arrived.</span>
 *
 * ![](../../marbles/stopOn.svg)
 *
 * The source is unsubscribed, which aborts its request, its retries and its delays, and the `finish` follows. The
 * operators after it end the turn as usual: with the text that they held back, with a message that contains the partial
 * text, and without incomplete tool calls.
 *
 * What is held before it, only the model can emit: the text that a `pipeModel` holds back, and the usage that the
 * provider has reported so far. So the request carries the same notifier (`ModelRequest.stop`), at which the model ends
 * its response itself; `stopOn` then ends one that does not know it. Place `stopOn` directly after the model's stream.
 *
 * If the notifier emits when it is subscribed, the source is not subscribed, so no request is sent. After the source's
 * own `finish`, the notifier has no effect. As with `takeUntil`, an error of the notifier is emitted, and its
 * completion is ignored. It is subscribed before the source and again after it, so that the model is asked first: pass
 * a Subject, or share what has side effects.
 *
 * The agent's option `stop` does all this for each turn of a run. To stop the turns of a loop of your own, pass a
 * notifier that remembers its value, so that a value between two turns counts:
 *
 * ```ts
 * const stop$ = new ReplaySubject<void>(1);
 * const turn = (state: RunState, { last }: TurnPosition) =>
 *   model
 *     .stream({ messages: state.messages, stop: stop$ })
 *     .pipe(
 *       stopOn(stop$),
 *       accumulateToolCalls(),
 *       consolidate(),
 *       executeTools(tools, { stop: stop$ }),
 *       endTurn(state, { last }),
 *     );
 * ```
 *
 * @param notifier Stops the source with its first value.
 * @returns A function that returns an Observable of the source's chunks until the notifier emits, and a `finish`.
 */
export function stopOn<E extends StreamEvent>(
  notifier: ObservableInput<unknown>,
): OperatorFunction<E, E | OfType<Chunk, 'finish'>>;
export function stopOn(notifier: ObservableInput<unknown>): OperatorFunction<StreamEvent, StreamEvent> {
  return (source) => new Observable((out) => subscribeStopped(out, source, notifier));
}

function subscribeStopped(
  out: Subscriber<StreamEvent>,
  source: Observable<StreamEvent>,
  notifier: ObservableInput<unknown>,
): void {
  const isOpen = () => !out.closed;
  const stop = new ReplaySubject<{ readonly finish: FinishChunk }>(1);
  const endings = from(notifier).pipe(
    take(1),
    map(() => ({ finish: stoppedFinish })),
  );
  const before = isOpen() ? endings.subscribe(stop) : undefined;
  out.add(before);
  out.add(finishOn(stop)(source).subscribe(out));
  if (!isOpen() || !isObservable(notifier)) return;
  out.add(endings.subscribe(stop));
  before?.unsubscribe();
}
