import type { ObservableInput, OperatorFunction } from 'rxjs';
import type { FinishChunk, Chunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { isFinish } from '../core/eventGuards.js';
import { onFirstValue } from '../core/notifier.js';
import { sumUsages } from '../core/usage.js';
import type { Usage } from '../core/usage.js';
import type { OfType } from '../core/typesOf.js';

/**
 * Replaces the rest of a model's stream by a `finish` with the reason `stopped`, when a notifier emits.
 *
 * <span class="informal">`takeUntil` for a model: the turn ends, with what has arrived.</span>
 *
 * ![](../../marbles/stopOn.svg)
 *
 * Text that the operators before it hold back is emitted first (see `release` of `createOperator`). Then the source is
 * unsubscribed, which aborts its request, its retries and its delays, and the `finish` follows, with the usage that the
 * provider has reported so far. The operators after it end the turn as usual: with a message that contains the partial
 * text, and without incomplete tool calls. An operator of RxJS ends the chain of operators that release text: place
 * `stopOn` directly after the model's stream, or apply the operators with `pipeModel`.
 *
 * If the notifier emits when it is subscribed, the source is not subscribed, so no request is sent. After the source's
 * own `finish`, the notifier has no effect. As with `takeUntil`, an error of the notifier is emitted, and its
 * completion is ignored.
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
export function stopOn<E extends StreamEvent>(
  notifier: ObservableInput<unknown>,
): OperatorFunction<E, E | OfType<Chunk, 'finish'>>;
export function stopOn(notifier: ObservableInput<unknown>): OperatorFunction<StreamEvent, StreamEvent> {
  return finishOn(notifier, { type: 'finish', reason: 'stopped' });
}

/** The `finish` of a response that a prompt has interrupted. Calls that `eager` has begun run to their end. */
export const interruptedFinish: FinishChunk = { type: 'finish', reason: 'stopped', rawReason: 'prompt' };

/** As `stopOn`, with another `finish`. */
export function finishOn(
  notifier: ObservableInput<unknown>,
  finish: FinishChunk,
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out, source) => {
    let usage: Usage | undefined;
    let isStopped = false; // the notifier has emitted
    let isFinished = false; // the source has emitted its own `finish`
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onFirstValue(out, notifier, () => {
      isStopped = true;
      if (isFinishing) return;
      usage = sumUsages(source.release());
      source.unsubscribe();
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
        if (isStopped) source.unsubscribe();
      },
      afterTeardown() {
        if (isStopped && !isFinished) out.next(usage ? ({ ...finish, usage } as FinishChunk) : finish);
        out.complete();
      },
    };
  });
}
