import { defer, from, isObservable, map, merge, Subject, take, throwError } from 'rxjs';
import type { Observable, ObservableInput, OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk } from './chunk.js';
import { createOperator } from './createOperator.js';
import type { StreamEvent } from './event.js';
import { isFinish } from './eventGuards.js';
import type { Model, ModelRequest } from './model.js';
import { notObservable } from './notObservable.js';
import { onEachValue } from './notifier.js';

/** The `finish` of a response that is stopped. */
export const stoppedFinish: FinishChunk = { type: 'finish', reason: 'stopped' };

/** The stop of a request whose response is ended by who asks, if the model does not end it. */
export class ResponseStop extends Subject<void> {
  /** Whether the response was about to end when it was stopped: its own `finish` follows. */
  isEnding = false;
}

/** Tells who stops a response that its own `finish` follows. */
export function announceFinish(stop: Observable<unknown> | undefined): void {
  if (stop instanceof ResponseStop) stop.isEnding = true;
}

/** The response of a model, as an Observable: in JavaScript, `stream` may return anything. */
export function openResponse(model: Pick<Model, 'stream'>, request: ModelRequest): Observable<Chunk> {
  const chunks: unknown = model.stream(request);
  if (isObservable(chunks)) return chunks as Observable<Chunk>;
  const { provider = '', name = '' } = model as Partial<Model>;
  return throwError(() => notObservable('model', `What \`stream\` of the model ${provider} ${name} returned`, chunks));
}

/**
 * The response of a model, until a notifier or the request's own `stop` emits. The model is asked to end its response
 * (`request.stop`), so that its operators emit what they hold before its `finish`. If it does not know `stop`, or waits
 * for a retry, it is unsubscribed, and the `finish` has no usage.
 *
 * @param notifier Default: the request's own `stop`. If there is none, the response is unchanged.
 * @param finish The `finish` of a stopped response. Default: the reason is `stopped`.
 */
export function stopResponse(
  model: Pick<Model, 'stream'>,
  request: ModelRequest,
  notifier: ObservableInput<unknown> | undefined = request.stop,
  finish: FinishChunk = stoppedFinish,
): Observable<Chunk> {
  if (!notifier) return openResponse(model, request);
  const { stop } = request;
  return defer(() => {
    const ask = new ResponseStop();
    const own = from(notifier).pipe(map(() => finish));
    const stops = stop && stop !== notifier ? merge(own, stop.pipe(map(() => stoppedFinish))) : own;
    const ended = finishOn(stops, { ask, stop }) as OperatorFunction<Chunk, Chunk>;
    return openResponse(model, { ...request, stop: ask }).pipe(ended);
  });
}

/**
 * Makes a model obey the `stop` of its requests also while it waits. Who stops with `stopResponse` unsubscribes it
 * anyway, so that only a request from outside passes one more subscriber.
 */
export const obeyStop =
  (stream: Model['stream']): Model['stream'] =>
  (request) =>
    request.stop instanceof ResponseStop ? stream(request) : stopResponse({ stream }, request);

/** How a stop is passed on. */
interface StopPath {
  /** Asks the source to end its response. */
  readonly ask?: ResponseStop;
  /** The stop of the request itself, which may be that of an outer response. */
  readonly stop?: Observable<unknown> | undefined;
}

/**
 * Replaces the rest of a response by the first `finish` of a notifier, after what the source emits when it is asked to
 * end.
 */
export function finishOn(
  notifier: Observable<FinishChunk>,
  { ask, stop }: StopPath = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out, source) => {
    let stopped: FinishChunk | undefined; // the notifier has emitted it
    let isFinished = false; // the source has emitted its own `finish`
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onEachValue(out, notifier.pipe(take(1)), (finish) => {
      stopped = finish;
      if (!isFinishing) ask?.next();
      // A filter emits the text that it holds before the `finish`: the usage would be lost.
      if (isFinishing || (ask?.isEnding && !isFinished)) announceFinish(stop);
      else source.unsubscribe();
    });
    return {
      next(event) {
        if (!isFinish(event)) {
          out.next(event);
          return;
        }
        isFinished = isFinishing = true;
        out.next(stopped && event.reason === 'stopped' ? { ...event, ...stopped } : event);
        isFinishing = false;
        if (stopped) source.unsubscribe();
      },
      afterTeardown() {
        if (stopped && !isFinished) out.next(stopped);
        out.complete();
      },
    };
  });
}

/** The `finish` of a response that a prompt has interrupted. Calls that `eager` has begun run to their end. */
export const interruptedFinish: FinishChunk = { ...stoppedFinish, rawReason: 'prompt' };
