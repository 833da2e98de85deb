import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { ServerSentEventsOptions } from '../../ui/serverSentEvents.js';
import type { SharedRun } from '../../ui/shareRun.js';
import { sseHeaders, webResponse, writeRun, writeToNode } from '../../ui/writeRun.js';
import type { NodeResponse, RunFormat } from '../../ui/writeRun.js';
import { AgUiEncoder } from './encoder.js';
import type { AgUiRun, ToAgUiOptions } from './encoder.js';
import type { AgUiEvent } from './protocol.js';

/** Options of `sendAgUi` and `agUiResponse`. */
export interface SendAgUiOptions extends ToAgUiOptions, Pick<ServerSentEventsOptions, 'heartbeat'> {
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Sends a run to a response of `node:http` as the server-sent events of AG-UI.
 *
 * The response is written at the speed of its reader, and for a slow reader nothing is stored. If the client closes the
 * connection (`HttpAgent.abortRun`), it leaves a shared run, and a plain run is unsubscribed, which aborts the request
 * and the tools.
 *
 * ```ts
 * createServer((request, response) => sendAgUi(runAgUi(agent, input), response, input)).listen(3000);
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param response The response. Its headers must not have been sent.
 * @param request The request of the client.
 * @param options Those of `toAgUi`, `headers`, `heartbeat` in milliseconds (default: 15000).
 */
export function sendAgUi(
  run: SharedRun | Observable<StreamEvent>,
  response: NodeResponse,
  request: AgUiRun,
  options: SendAgUiOptions = {},
): void {
  writeToNode(response, { ...sseHeaders, ...options.headers }, (sink) =>
    writeRun(run, agUiFormat(request, options), options, sink),
  );
}

/**
 * Creates a web `Response` that sends a run as the server-sent events of AG-UI. It behaves like `sendAgUi`: cancelling
 * the body leaves the run.
 *
 * @param run A shared run, or the Observable of a run.
 * @param request The request of the client.
 * @param options Those of `toAgUi`, `headers`, `heartbeat` in milliseconds (default: 15000).
 */
export function agUiResponse(
  run: SharedRun | Observable<StreamEvent>,
  request: AgUiRun,
  options: SendAgUiOptions = {},
): Response {
  return webResponse({ ...sseHeaders, ...options.headers }, (sink) =>
    writeRun(run, agUiFormat(request, options), options, sink),
  );
}

/** The texts of AG-UI: an event is one line of JSON. */
function agUiFormat(request: AgUiRun, options: ToAgUiOptions): RunFormat {
  const encoder = new AgUiEncoder(request, options);
  const format = (events: readonly AgUiEvent[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return {
    start: () => format(encoder.start()),
    event: ({ event }) => format(encoder.next(event)),
    failure: (thrown) => format(encoder.error(thrown)),
    end: () => format(encoder.complete()),
  };
}
