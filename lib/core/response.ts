import { defer, from, isObservable, map, merge, Subject, take, throwError } from 'rxjs';
import type { Observable, ObservableInput, OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk } from './chunk.js';
import { isRecord } from './json/json.js';
import { createOperator } from './createOperator.js';
import type { StreamEvent } from './event.js';
import { isFinish } from './eventGuards.js';
import type { Model, ModelRequest } from './model.js';
import { notObservable } from './notObservable.js';
import { onEachValue } from './notifier.js';

export const stoppedFinish: FinishChunk = { type: 'finish', reason: 'stopped' };

/** The value of `request.stop`. A model that will still emit its own `finish` sets `isAnswered`. */
class StopCall {
  isAnswered = false;
}

/** The owner of such a stop ends the response if the model does not (`stopResponse`). */
const enforcedStops = /* @__PURE__ */ new WeakSet<Observable<unknown>>();

/** The request carries `notifier`; the caller of `ask` ends the response. */
export class ResponseStop {
  private readonly calls = new Subject<StopCall>();
  readonly notifier: Observable<unknown> = this.calls.asObservable();

  constructor() {
    enforcedStops.add(this.notifier);
  }

  /** Returns whether the model will emit its own `finish`. */
  ask(): boolean {
    const call = new StopCall();
    this.calls.next(call);
    return call.isAnswered;
  }
}

export function announceFinish(call: unknown): void {
  if (isRecord(call) && call['isAnswered'] === false) call['isAnswered'] = true; // also of another copy of the package
}

/** In JavaScript, `stream` may return anything. */
export function openResponse(model: Pick<Model, 'stream'>, request: ModelRequest): Observable<Chunk> {
  const chunks: unknown = model.stream(request);
  if (isObservable(chunks)) return chunks as Observable<Chunk>;
  const { provider = '', name = '' } = model as Partial<Model>;
  return throwError(() => notObservable('model', `What \`stream\` of the model ${provider} ${name} returned`, chunks));
}

/** A model's operators emit what they hold before its `finish`. One that does not know `stop` is unsubscribed. */
export function stopResponse(
  model: Pick<Model, 'stream'>,
  request: ModelRequest,
  notifier: ObservableInput<unknown> | undefined = request.stop,
  finish: FinishChunk = stoppedFinish,
): Observable<Chunk> {
  if (!notifier) return openResponse(model, request);
  const { stop } = request;
  return defer(() => {
    const responseStop = new ResponseStop();
    const byNotifier = from(notifier).pipe(map((call): Ending => ({ finish, call })));
    const byRequest = stop?.pipe(map((call): Ending => ({ finish: stoppedFinish, call })));
    // The default of `notifier` is `request.stop`, which then is not followed twice.
    const endings = byRequest && stop !== notifier ? merge(byNotifier, byRequest) : byNotifier;
    const ended = finishOn(endings, responseStop) as OperatorFunction<Chunk, Chunk>;
    return openResponse(model, { ...request, stop: responseStop.notifier }).pipe(ended);
  });
}

/** The requests of `stopResponse` are ended by it already. */
export const obeyStop =
  (stream: Model['stream']): Model['stream'] =>
  (request) =>
    request.stop && !enforcedStops.has(request.stop) ? stopResponse({ stream }, request) : stream(request);

interface Ending {
  readonly finish: FinishChunk;
  readonly call?: unknown;
}

export function finishOn(endings: Observable<Ending>, stop?: ResponseStop): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out, source) => {
    let stopped: FinishChunk | undefined;
    let isFinished = false; // the source has emitted its own `finish`
    let isFinishing = false; // the `finish` is being emitted: a handler of what it causes may stop the run
    onEachValue(out, endings.pipe(take(1)), ({ finish, call }) => {
      stopped = finish;
      // A filter emits the text that it holds before the `finish`: without this, the usage would be lost.
      const finishFollows = isFinishing || (stop?.ask() && !isFinished);
      if (finishFollows) announceFinish(call);
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

/** Calls that `eager` has begun run to their end. */
export const interruptedFinish: FinishChunk = { type: 'finish', reason: 'stopped', rawReason: 'prompt' };
