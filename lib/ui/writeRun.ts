import { isObservable } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import type { Envelope } from './eventLog.js';
import { formatServerSentEvent, startHeartbeat } from './serverSentEvents.js';
import type { ServerSentEventsOptions } from './serverSentEvents.js';
import { shareRun } from './shareRun.js';
import type { RunReading, SharedRun } from './shareRun.js';

/** What `sendRun` uses of a response of `node:http`. */
export interface NodeResponse {
  /** Whether the connection is closed. */
  readonly destroyed?: boolean;
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  flushHeaders?(): void;
  /** Returns false if the response is full. */
  write(text: string): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

/** How a protocol over server-sent events writes a run. */
export interface RunFormat {
  /** The text before the first event. It is sent before the run emits anything. Default: none. */
  start?(): string;
  /** The text for an event. Empty: nothing is sent. If it throws, the run ends with the failure. */
  event(envelope: Envelope): string;
  /** The text for the failure of the run. It is the last one. */
  failure(thrown: unknown): string;
  /** The text for the end of the run. It is the last one. */
  end(): string;
}

/** Options of a run that is written. */
export interface WriteRunOptions extends Pick<ServerSentEventsOptions, 'heartbeat'> {
  /** The id after which the run is read. Default: the run is read from its start. */
  readonly after?: string | undefined;
}

/** Where text is written. */
export interface TextSink {
  /** Returns false if the sink is full. */
  write(text: string): boolean;
  end(): void;
}

/** A run that is being written. */
export interface RunWriting extends RunReading {
  start(): void;
}

export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no', // nginx buffers a response otherwise
};

/** Writes to a response of `node:http`, at the speed of its reader. */
export function writeToNode(
  response: NodeResponse,
  headers: Readonly<Record<string, string>>,
  open: (sink: TextSink) => RunWriting,
): void {
  if (response.destroyed) return; // the client has left already: `close` was emitted, and nobody would end the run
  const writing = open({
    write: (text) => response.write(text),
    end: () => response.end(),
  });
  response.writeHead(200, headers);
  response.on('drain', () => writing.resume());
  response.on('close', () => writing.unsubscribe());
  response.flushHeaders?.(); // the client learns that its request has arrived, however long the run is silent
  writing.start();
}

/** Creates a web `Response` that is written at the speed of its reader. */
export function webResponse(headers: Readonly<Record<string, string>>, open: (sink: TextSink) => RunWriting): Response {
  const encoder = new TextEncoder();
  let writing: RunWriting | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        writing = open({
          write(text) {
            controller.enqueue(encoder.encode(text));
            return (controller.desiredSize ?? 0) > 0;
          },
          end: () => controller.close(),
        });
        writing.start();
      },
      pull: () => writing?.resume(),
      cancel: () => writing?.unsubscribe(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 16_384 }),
  );
  return new Response(body, { headers });
}

/**
 * Writes a run to a sink, in any protocol over server-sent events. For a slow reader nothing is stored: it continues in
 * the log of the shared run, where deltas are merged.
 *
 * @param run A shared run, which is left when the writing is unsubscribed; or the Observable of a run, which is then
 * unsubscribed.
 * @param format The texts of the protocol.
 * @param options `after`; `heartbeat` in milliseconds (default: 15000).
 * @param sink Where the text is written.
 */
export function writeRun(
  run: SharedRun | Observable<StreamEvent>,
  format: RunFormat,
  options: WriteRunOptions,
  sink: TextSink,
): RunWriting {
  const plain = isObservable(run);
  const shared = plain ? shareRun(run) : run;
  let reading: RunReading | undefined;
  let isFull = false;
  let hasFailed = false;
  const write = (text: string) => {
    isFull = !sink.write(text);
  };
  const heartbeat = startHeartbeat(options, (event) => isFull || write(formatServerSentEvent(event)));
  const end = (text: string) => {
    heartbeat.timer.unsubscribe();
    write(text);
    sink.end();
  };
  const leave = () => {
    heartbeat.timer.unsubscribe();
    reading?.unsubscribe();
    if (plain) shared.unsubscribe();
  };
  const fail = (thrown: unknown) => end(format.failure(thrown));
  const receiver = {
    next(envelope: Envelope) {
      try {
        const text = format.event(envelope);
        if (text === '') return true;
        write(text);
        heartbeat.noteEvent();
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
    complete: () => end(format.end()),
  };
  return {
    start() {
      if (format.start) write(format.start());
      try {
        reading = shared.read(receiver, options.after);
        if (hasFailed) leave(); // within `read`, while there was no `reading`
      } catch (thrown) {
        fail(thrown); // a client may send any `Last-Event-ID`
      }
    },
    resume() {
      isFull = false;
      reading?.resume();
    },
    unsubscribe: leave,
  };
}
