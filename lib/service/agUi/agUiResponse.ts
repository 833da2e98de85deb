import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { ServerSentEventsOptions } from '../../transport/serverSentEvents.js';
import { createResponse } from '../http/runResponse.js';
import type { SharedRun } from '../runs/sharedRun.js';
import { AgUiEncoder, type AgUiRun, type ToAgUiOptions } from './encoder.js';
import type { AgUiEvent } from '../../transport/agUi/protocol.js';

export interface AgUiResponseOptions extends ToAgUiOptions, Pick<ServerSentEventsOptions, 'heartbeat'> {
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Creates a web `Response` that sends a run as the server-sent events of AG-UI. For Node, Express and Nest,
 * `nodeListener` converts it.
 *
 * The reader of the body sets the speed, and nothing is buffered for a slow reader. If the client closes the connection
 * (`HttpAgent.abortRun`), it leaves a shared run. A plain run is unsubscribed, which aborts the request and the tools.
 *
 * ```ts
 * const handler = async (request: Request) => {
 *   const input = readAgUiRequest(await request.json());
 *   return agUiResponse(runAgUi(agent, input), input);
 * };
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param request The request of the client, of which `toAgUi` needs some fields.
 * @param options Those of `toAgUi`, `headers`, `heartbeat` in milliseconds (default: 15000).
 */
export function agUiResponse(
  run: SharedRun | Observable<StreamEvent>,
  request: AgUiRun,
  options: AgUiResponseOptions = {},
): Response {
  const encoder = new AgUiEncoder(request, options);
  const format = (events: readonly AgUiEvent[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return createResponse(
    run,
    {
      start: () => format(encoder.start()),
      event: ({ event }) => format(encoder.next(event)),
      failure: (thrown) => format(encoder.error(thrown)),
      end: () => format(encoder.complete()),
    },
    options,
  );
}
