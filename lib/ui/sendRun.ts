import { asyncScheduler, isObservable } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import {
  endEvent,
  failureEvent,
  formatServerSentEvent,
  heartbeatDelay,
  heartbeatEvent,
  plainServerSentEvent,
  runServerSentEvent,
} from './serverSentEvents.js';
import type { Envelope } from './eventLog.js';
import type { ServerSentEvent, ServerSentEventsOptions } from './serverSentEvents.js';
import { shareRun } from './shareRun.js';
import type { RunReading, SharedRun } from './shareRun.js';

/** Options of `sendRun` and `runResponse`. */
export interface SendRunOptions extends ServerSentEventsOptions {
  /** The `Last-Event-ID` of the request. Default: none, the run is sent from its start. */
  readonly after?: string | undefined;
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What `sendRun` uses of a response of `node:http`. */
export interface NodeResponse {
  /** Whether the connection is closed. */
  readonly destroyed?: boolean;
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  /** Returns false if the response is full. */
  write(text: string): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no', // nginx buffers a response otherwise
};

/**
 * Sends a run to a response of `node:http` as server-sent events.
 *
 * The response is written at the speed of its reader. For a slow reader nothing is stored: it continues in the log of
 * the shared run, where deltas are merged. If the client closes the connection, it leaves a shared run, and a plain run
 * is unsubscribed.
 *
 * ```ts
 * createServer((request, response) => sendRun(agent.stream('Hello'), response)).listen(3000);
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param response The response. Its headers must not have been sent.
 * @param options `after`, `headers`, `heartbeat` in milliseconds (default: 15000), `describeError`.
 */
export function sendRun(
  run: SharedRun | Observable<StreamEvent>,
  response: NodeResponse,
  options: SendRunOptions = {},
): void {
  if (response.destroyed) return; // the client has left already: `close` was emitted, and nobody would end the run
  const sending = send(run, options, {
    write: (text) => response.write(text),
    end: () => response.end(),
  });
  response.writeHead(200, { ...sseHeaders, ...options.headers });
  response.on('drain', () => sending.resume());
  response.on('close', () => sending.unsubscribe());
  sending.start();
}

/**
 * Creates a web `Response` (Hono, Next, Deno, Bun, edge) that sends a run as server-sent events.
 *
 * It behaves like `sendRun`: the reader of the body sets the speed, and cancelling the body leaves the run.
 *
 * ```ts
 * export const POST = async (request: Request) => runResponse(agent.stream(await request.text()));
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param options `after`, `headers`, `heartbeat` in milliseconds (default: 15000), `describeError`.
 */
export function runResponse(run: SharedRun | Observable<StreamEvent>, options: SendRunOptions = {}): Response {
  const encoder = new TextEncoder();
  let sending: Sending | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sending = send(run, options, {
          write(text) {
            controller.enqueue(encoder.encode(text));
            return (controller.desiredSize ?? 0) > 0;
          },
          end: () => controller.close(),
        });
        sending.start();
      },
      pull: () => sending?.resume(),
      cancel: () => sending?.unsubscribe(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 16_384 }),
  );
  return new Response(body, { headers: { ...sseHeaders, ...options.headers } });
}

/** Where text is written. */
interface TextSink {
  /** Returns false if the sink is full. */
  write(text: string): boolean;
  end(): void;
}

interface Sending extends RunReading {
  start(): void;
}

function send(run: SharedRun | Observable<StreamEvent>, options: SendRunOptions, sink: TextSink): Sending {
  const { after } = options;
  const heartbeat = heartbeatDelay(options);
  const plain = isObservable(run);
  const shared = plain ? shareRun(run) : run;
  let reading: RunReading | undefined;
  let isFirst = true;
  let isSilent = true;
  let isFull = false;
  let hasFailed = false;
  const write = (event: ServerSentEvent) => sink.write(formatServerSentEvent(event));
  const beat =
    heartbeat === undefined
      ? undefined
      : asyncScheduler.schedule(function () {
          if (isSilent && !isFull) write(heartbeatEvent);
          isSilent = true;
          this.schedule(undefined, heartbeat);
        }, heartbeat);
  const end = (event: ServerSentEvent) => {
    beat?.unsubscribe();
    write(event);
    sink.end();
  };
  const leave = () => {
    beat?.unsubscribe();
    reading?.unsubscribe();
    if (plain) shared.unsubscribe();
  };
  const fail = (thrown: unknown) => {
    let event: ServerSentEvent;
    try {
      event = failureEvent(thrown, options);
    } catch (failed) {
      event = failureEvent(failed, {}); // of `describeError` or `onError`
    }
    end(event);
  };
  const receiver = {
    next({ id, compact }: Envelope) {
      if (!compact) return true;
      try {
        const event = plain ? plainServerSentEvent(compact, isFirst) : runServerSentEvent(compact, id);
        isFirst = isSilent = false;
        isFull = !write(event);
        return !isFull;
      } catch (thrown) {
        // The event is not JSON (a bigint, a cycle). Thrown, the error would be uncaught, and other readers would wait.
        hasFailed = true;
        fail(thrown);
        leave();
        return false;
      }
    },
    error: fail,
    complete: () => end(endEvent),
  };
  return {
    start() {
      try {
        reading = shared.read(receiver, after);
        if (hasFailed) leave(); // within `read`, while there was no `reading`
      } catch (thrown) {
        receiver.error(thrown); // a client may send any `Last-Event-ID`
      }
    },
    resume() {
      isFull = false;
      reading?.resume();
    },
    unsubscribe: leave,
  };
}
