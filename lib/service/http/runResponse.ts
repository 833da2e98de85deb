import { isObservable, Subject, Subscription, takeWhile, type Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { endEvent, failureEvent, formatServerSentEvent, helloText } from '../../transport/serverSentEvents.js';
import { plainServerSentEvent, runServerSentEvent, startEvent } from '../../transport/serverSentEvents.js';
import { startHeartbeat } from '../../transport/serverSentEvents.js';
import type { ServerSentEventsOptions } from '../../transport/serverSentEvents.js';
import type { Envelope } from '../runs/lateReader.js';
import { shareRun } from '../runs/shareRun.js';
import type { SharedRun } from '../runs/sharedRun.js';
import type { Receiver } from '../ports/runLog.js';

/** Options of `runResponse`. */
export interface RunResponseOptions extends ServerSentEventsOptions {
  /** The `Last-Event-ID` of the request. Default: none, the run is sent from its start. */
  readonly after?: string | undefined;
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Creates a web `Response` (Hono, Next, Deno, Bun, edge) that sends a run as server-sent events. For Node, Express and
 * Nest, `nodeListener` converts it.
 *
 * The reader of the body sets the speed. Nothing is buffered for a slow reader: it continues in the log of the shared
 * run, where deltas are merged. Cancelling the body leaves a shared run, and unsubscribes a plain run.
 *
 * ```ts
 * export const POST = async (request: Request) => runResponse(agent.stream(await request.text()));
 * createServer(nodeListener(() => Promise.resolve(runResponse(agent.stream('Hello'))))).listen(3000);
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param options `after`, `headers`, `heartbeat` in milliseconds (default: 15000), `describeError`, `onError`.
 */
export function runResponse(run: SharedRun | Observable<StreamEvent>, options: RunResponseOptions = {}): Response {
  return createResponse(run, serverSentEvents(options, isObservable(run)), options);
}

/** Rivulet's own protocol, which `fromServerSentEvents` reads. */
export function serverSentEvents(options: RunResponseOptions, isPlain: boolean): RunFormat {
  return {
    start: () => helloText(options) + formatServerSentEvent(startEvent(!isPlain, options.after)),
    event({ id, compact }) {
      if (!compact) return '';
      return formatServerSentEvent(isPlain ? plainServerSentEvent(compact, false) : runServerSentEvent(compact, id));
    },
    failure: (thrown) => formatServerSentEvent(failureEvent(thrown, options)),
    end: () => formatServerSentEvent(endEvent),
  };
}

export interface RunFormat {
  start(): string;
  /** Empty: nothing is sent. If it throws, the run ends with the failure. */
  event(envelope: Envelope): string;
  /** The last text. Empty: the response ends without it. */
  failure(thrown: unknown): string;
  end(): string;
}

const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no', // nginx buffers a response otherwise
};

/** Written at the speed of its reader. Cancelling the body leaves a shared run, and unsubscribes an Observable. */
export function createResponse(
  run: SharedRun | Observable<StreamEvent>,
  format: RunFormat,
  options: Pick<RunResponseOptions, 'after' | 'headers' | 'heartbeat'>,
): Response {
  let writing: RunWriting | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        writing = writeRun(run, format, options, controller);
        writing.start();
      },
      pull: () => writing?.resume(),
      cancel: () => writing?.leave(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 16_384 }),
  );
  return new Response(body, { headers: { ...sseHeaders, ...options.headers } });
}

interface RunWriting {
  start(): void;
  resume(): void;
  /** The reader has left. */
  leave(): void;
}

function writeRun(
  run: SharedRun | Observable<StreamEvent>,
  format: RunFormat,
  options: Pick<RunResponseOptions, 'after' | 'heartbeat'>,
  sink: ReadableStreamDefaultController<Uint8Array>,
): RunWriting {
  const encoder = new TextEncoder();
  const isPlain = isObservable(run);
  const shared = isPlain ? shareRun(run) : run;
  const drained = new Subject<void>();
  let reading = Subscription.EMPTY;
  let isFull = false;
  let hasEnded = false;
  const write = (text: string) => {
    if (text === '') return;
    sink.enqueue(encoder.encode(text));
    isFull = (sink.desiredSize ?? 0) <= 0;
  };
  const heartbeat = startHeartbeat(options, (event) => {
    if (!isFull) write(formatServerSentEvent(event));
  });
  const leave = () => {
    hasEnded = true;
    heartbeat.timer.unsubscribe();
    reading.unsubscribe();
    if (isPlain) shared.unsubscribe();
  };
  const end = (text: string) => {
    write(text);
    sink.close();
    leave();
  };
  const next = (envelope: Envelope): boolean => {
    try {
      const text = format.event(envelope);
      if (text !== '') heartbeat.noteEvent();
      write(text);
    } catch (thrown) {
      end(format.failure(thrown)); // the event is not JSON (a bigint, a cycle)
    }
    return !hasEnded;
  };
  const receiver: Receiver = {
    drained,
    get isFull() {
      return isFull;
    },
  };
  return {
    start() {
      write(format.start());
      reading = shared
        .envelopes(options.after, receiver)
        .pipe(takeWhile(next))
        .subscribe({
          error: (thrown: unknown) => end(format.failure(thrown)),
          complete: () => hasEnded || end(format.end()),
        });
    },
    resume() {
      isFull = false;
      if (!hasEnded) drained.next();
    },
    leave,
  };
}
