import { firstValueFrom } from 'rxjs';
import { errorResponse, refused } from './agentRequest.js';
import { AgentService } from './agentService.js';
import type { AgentHandlerOptions, HandledAgent } from './agentHandlerOptions.js';
import { createRuns } from './createRuns.js';
import type { Runs } from './createRuns.js';

/** Answers the requests of `remoteAgent`. */
export interface AgentHandler {
  (request: Request): Promise<Response>;
  /** Ends the service, for `SIGTERM`: see `Runs.shutdown`. */
  shutdown: Runs['shutdown'];
}

/**
 * Creates the service of a chat: a function from a web `Request` to a `Response` (Hono, Next, Deno, Bun, edge). For
 * Node, Express and Nest, `nodeListener` converts it.
 *
 * <span class="informal">The other end of `remoteAgent`: runs, reconnection, stop and approvals in one function.</span>
 *
 * A run belongs to the service, not to the connection: a page that is reloaded joins it again, and closing the page
 * does not stop it before the registry's grace time is over. The service keeps the messages of each run with their
 * provider data, and the checkpoint of a run that waits; a browser only sends ids. A checkpoint is used once.
 *
 * All requests go to one URL. The header `x-run-id` names the run, with an id of the client that nobody can guess.
 *
 * - `POST` with `input` (a text, or messages of the user) and `history` (the `id` and the `input` of at most 1000
 *   earlier runs) starts a run, and sends its events. The same request again joins it, from `Last-Event-ID`. Of the
 *   messages, the texts and the files are used: no `metadata`, no `providerOptions`.
 * - `POST` with `resume` (the id of a run that waits), `decisions`, `results` and `errors` goes on with it, as another
 *   run. If it was answered already, it must have the id of the run that went on, which it then joins; else: 409.
 * - `POST` with neither joins the run from its start. A run that has ended is sent again from the store.
 * - `DELETE` stops the run: 204, or 404 if it does not go on.
 *
 * ```ts
 * const handler = agentHandler(agent, { context: (request) => ({ user: userOf(request) }) });
 * createServer(nodeListener(handler)).listen(3000);
 * process.once('SIGTERM', () => handler.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param agent What `createAgent` returns.
 * @param options `runs` (default: `createRuns()`), `store` (default: in memory), `checkpoints` (default: false),
 * `context` (default: everybody may ask), `maxBodyBytes` (default: 1000000), `heartbeat` in milliseconds (default:
 * 15000), `describeError`, `onError`.
 * @returns The handler. It answers 400 to a request that is not one of these, 403, 405, 409 and 413; the Promise does
 * not reject.
 */
export function agentHandler<C = undefined>(
  agent: HandledAgent<C>,
  options: AgentHandlerOptions<C> = {},
): AgentHandler {
  const { runs = createRuns() } = options;
  const service = new AgentService(agent, runs, options);
  const handle = (request: Request) =>
    firstValueFrom(service.respond(request), { defaultValue: errorResponse(refused()) });
  return Object.assign(handle, { shutdown: (how?: 'finish' | 'stop' | 'abandon') => runs.shutdown(how) });
}
