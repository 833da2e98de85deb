import { defer, merge, NEVER, Subject } from 'rxjs';
import type { Observable, ObservableInput, OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { isFinish } from '../core/eventGuards.js';
import type { Model, ModelRequest } from '../core/model.js';
import { onFirstValue } from '../core/notifier.js';

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
export function stopOn<E extends StreamEvent>(notifier: ObservableInput<unknown>): OperatorFunction<E, E | FinishChunk>;
export function stopOn(notifier: ObservableInput<unknown>): OperatorFunction<StreamEvent, StreamEvent> {
  return finishOn(notifier, stoppedFinish);
}

const stoppedFinish: FinishChunk = { type: 'finish', reason: 'stopped' };

/** The `finish` of a response that a prompt has interrupted. Calls that `eager` has begun run to their end. */
export const interruptedFinish: FinishChunk = { type: 'finish', reason: 'stopped', rawReason: 'prompt' };

/**
 * The response of a model, until a notifier or the request's own `stop` emits. The model is asked to end its response
 * (`request.stop`), so that its operators emit what they hold before its `finish`. If it does not know `stop`, or waits
 * for a retry, it is unsubscribed, and the `finish` has no usage.
 *
 * @param finish The finish reason. Default: `stopped`.
 */
export function stopResponse(
  model: Model,
  request: ModelRequest,
  notifier: ObservableInput<unknown> | undefined = request.stop,
  finish: FinishChunk = stoppedFinish,
): Observable<Chunk> {
  if (!notifier) return model.stream(request);
  return defer(() => {
    const stop = new Subject<void>();
    const both = notifier === request.stop ? notifier : merge(notifier, request.stop ?? NEVER);
    return model.stream({ ...request, stop }).pipe(finishOn(both, finish, stop) as OperatorFunction<Chunk, Chunk>);
  });
}

/** As `stopOn`, with another `finish`. `ask` asks the source to end first. */
function finishOn(
  notifier: ObservableInput<unknown>,
  finish: FinishChunk,
  ask?: Subject<void>,
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out, source) => {
    let isStopped = false; // the notifier has emitted
    let isFinished = false; // the source has emitted its own `finish`
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onFirstValue(out, notifier, () => {
      isStopped = true;
      if (isFinishing) return;
      ask?.next(); // a source that knows `stop` ends now, with its own `finish`
      source.unsubscribe();
    });
    return {
      next(event) {
        if (!isFinish(event)) {
          out.next(event);
          return;
        }
        isFinished = isFinishing = true;
        out.next(isStopped && event.reason === 'stopped' ? { ...event, ...finish } : event);
        isFinishing = false;
        if (isStopped) source.unsubscribe();
      },
      afterTeardown() {
        if (isStopped && !isFinished) out.next(finish);
        out.complete();
      },
    };
  });
}
