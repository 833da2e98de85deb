import { defer, ReplaySubject, takeUntil } from 'rxjs';
import type { ObservableInput, OperatorFunction } from 'rxjs';
import type { FinishChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { isFinish } from '../core/eventGuards.js';
import { onFirstValue } from '../core/notifier.js';
import { collectRemainder } from '../core/remainder.js';
import type { Remainder } from '../core/remainder.js';

/**
 * Replaces the rest of a model's stream by a `finish` with the reason `stopped`, when a notifier emits.
 *
 * <span class="informal">`takeUntil` for a model: the turn ends, with what has arrived.</span>
 *
 * ![](../../marbles/stopOn.svg)
 *
 * The source is unsubscribed first, which aborts its request, its retries and its delays. Then the text that a filter
 * still held back is emitted (it does not pass the operators between that filter and `stopOn`), and then the `finish`,
 * with the usage that the provider has reported so far. The operators after it end the turn as usual: with a message
 * that contains the partial text, and without incomplete tool calls. If the notifier emits when it is subscribed, the
 * source is not subscribed, so no request is sent. After the source's own `finish`, the notifier has no effect. As with
 * `takeUntil`, an error of the notifier is emitted, and its completion is ignored.
 *
 * The agent's option `stop` applies it to each turn of a run. To stop the turns of a loop of your own, pass a notifier
 * that remembers its value, so that a value between two turns counts:
 *
 * ```ts
 * const stop$ = new ReplaySubject<void>(1);
 * const turn = (state: RunState, { last }: TurnPosition) =>
 *   model
 *     .stream({ messages: state.messages })
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
export function stopOn<E extends StreamEvent>(notifier: ObservableInput<unknown>): OperatorFunction<E, E | FinishChunk>;
export function stopOn(notifier: ObservableInput<unknown>): OperatorFunction<StreamEvent, StreamEvent> {
  return (source) =>
    defer(() => {
      const stopped = new ReplaySubject<void>(1); // also if the notifier emits before the source is subscribed
      return finishWhenStopped(notifier, stopped)(source.pipe(takeUntil(stopped)));
    });
}

function finishWhenStopped(notifier: ObservableInput<unknown>, stopped: ReplaySubject<void>) {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const remainder: Remainder = { chunks: [], usage: undefined };
    let isStopped = false;
    let isFinished = false;
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onFirstValue(out, notifier, () => {
      isStopped = true;
      if (!isFinishing) collectRemainder(remainder, () => stopped.next());
    });
    return {
      next(event) {
        if (!isFinish(event)) {
          out.next(event);
          return;
        }
        isFinished = isFinishing = true;
        out.next(event);
        isFinishing = false;
        if (isStopped) stopped.next();
      },
      afterTeardown() {
        if (isStopped && !isFinished) {
          const { chunks, usage } = remainder;
          for (const chunk of chunks) out.next(chunk);
          out.next({ type: 'finish', reason: 'stopped', ...(usage ? { usage } : {}) } as FinishChunk);
        }
        out.complete();
      },
    };
  });
}
