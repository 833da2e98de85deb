import { defer, from, isObservable, map, merge, Subject, take, throwError } from 'rxjs';
import type { Observable, ObservableInput, OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk } from './chunk.js';
import { createOperator } from './createOperator.js';
import type { StreamEvent } from './event.js';
import { isFinish } from './eventGuards.js';
import type { Model, ModelRequest } from './model.js';
import { notObservable } from './notObservable.js';
import { onEachValue } from './notifier.js';

export const stoppedFinish: FinishChunk = { type: 'finish', reason: 'stopped' };

/** What a stop emits for the model, which may answer that its own `finish` follows: it is already on its way. */
class StopCall {
  isAnswered = false;
}

/** The stops of responses that the asker ends, if the model does not. */
const enforcedStops = /* @__PURE__ */ new WeakSet<Observable<unknown>>();

/** The stop of one response, for who then ends it: the request has `notifier`. */
export class ResponseStop {
  private readonly calls = new Subject<StopCall>();
  readonly notifier: Observable<unknown> = this.calls.asObservable();

  constructor() {
    enforcedStops.add(this.notifier);
  }

  ask(): boolean {
    const call = new StopCall();
    this.calls.next(call);
    return call.isAnswered;
  }
}

/** Answers a stop: the `finish` of the response follows. */
export function announceFinish(call: unknown): void {
  if (call instanceof StopCall) call.isAnswered = true;
}

/** The response of a model, as an Observable: in JavaScript, `stream` may return anything. */
export function openResponse(model: Pick<Model, 'stream'>, request: ModelRequest): Observable<Chunk> {
  const chunks: unknown = model.stream(request);
  if (isObservable(chunks)) return chunks as Observable<Chunk>;
  const { provider = '', name = '' } = model as Partial<Model>;
  return throwError(() => notObservable('model', `What \`stream\` of the model ${provider} ${name} returned`, chunks));
}

/**
 * Asks the model to end its response (`request.stop`), so that its operators emit what they hold before its `finish`. A
 * model that does not know `stop`, or waits for a retry, is unsubscribed, and the `finish` has no usage.
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
    const own = from(notifier).pipe(map((call): Ending => ({ finish, call })));
    const outer = stop?.pipe(map((call): Ending => ({ finish: stoppedFinish, call })));
    const endings = outer && stop !== notifier ? merge(own, outer) : own;
    const ended = finishOn(endings, ask) as OperatorFunction<Chunk, Chunk>;
    return openResponse(model, { ...request, stop: ask.notifier }).pipe(ended);
  });
}

/** `stopResponse` unsubscribes anyway: only a request from outside passes one more subscriber. */
export const obeyStop =
  (stream: Model['stream']): Model['stream'] =>
  (request) =>
    request.stop && !enforcedStops.has(request.stop) ? stopResponse({ stream }, request) : stream(request);

interface Ending {
  readonly finish: FinishChunk;
  readonly call?: unknown;
}

/** Ends a response with the `finish` of the first ending, after what the source emits when asked. */
export function finishOn(endings: Observable<Ending>, stop?: ResponseStop): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out, source) => {
    let stopped: FinishChunk | undefined;
    let isFinished = false; // the source has emitted its own `finish`
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onEachValue(out, endings.pipe(take(1)), ({ finish, call }) => {
      stopped = finish;
      // A filter emits the text that it holds before the `finish`: the usage would be lost.
      if (isFinishing || (stop?.ask() && !isFinished)) announceFinish(call);
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
export const interruptedFinish: FinishChunk = { type: 'finish', reason: 'stopped', rawReason: 'prompt' };
