import { isObservable } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import {
  endEvent,
  failureEvent,
  formatServerSentEvent,
  plainServerSentEvent,
  runServerSentEvent,
  startEvent,
} from './serverSentEvents.js';
import type { ServerSentEventsOptions } from './serverSentEvents.js';
import type { SharedRun } from './shareRun.js';
import { sseHeaders, webResponse, writeRun, writeToNode } from './writeRun.js';
import type { NodeResponse, RunFormat } from './writeRun.js';

export type { NodeResponse } from './writeRun.js';

/** Options of `sendRun` and `runResponse`. */
export interface SendRunOptions extends ServerSentEventsOptions {
  /** The `Last-Event-ID` of the request. Default: none, the run is sent from its start. */
  readonly after?: string | undefined;
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

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
  writeToNode(response, { ...sseHeaders, ...options.headers }, (sink) =>
    writeRun(run, serverSentEvents(options, isObservable(run)), options, sink),
  );
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
  return webResponse({ ...sseHeaders, ...options.headers }, (sink) =>
    writeRun(run, serverSentEvents(options, isObservable(run)), options, sink),
  );
}

/** The texts of Rivulet's own protocol, which `fromServerSentEvents` reads. */
function serverSentEvents(options: SendRunOptions, isPlain: boolean): RunFormat {
  return {
    start: () => formatServerSentEvent(startEvent(!isPlain, options.after)),
    event({ id, compact }) {
      if (!compact) return '';
      return formatServerSentEvent(isPlain ? plainServerSentEvent(compact, false) : runServerSentEvent(compact, id));
    },
    failure: (thrown) => formatServerSentEvent(failureEvent(thrown, options)),
    end: () => formatServerSentEvent(endEvent),
  };
}
