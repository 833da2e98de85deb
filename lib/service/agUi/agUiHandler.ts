import { catchError, concatMap, defer, map, NEVER, of, tap, throwError } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import { tryParseJson } from '../../core/json/json.js';
import type { Tool } from '../../core/tool.js';
import type { OwnerData } from '../ownerData.js';
import { RequestError, requireJson, requireName } from '../http/requestError.js';
import { publicEvents } from '../publicEvents.js';
import { createService } from '../service.js';
import type { HandledAgent } from '../handledAgent.js';
import { estimateSize } from '../runs/estimateSize.js';
import type { Client } from '../runs/runAccess.js';
import type { EdgeOptions, LimitOptions, ServiceOptions } from '../serviceOptions.js';
import { agUiResponse } from './agUiResponse.js';
import type { AgUiResponseOptions } from './agUiResponse.js';
import type { RunAgentInput } from '../../transport/agUi/protocol.js';
import { AgUiRequestError, clientTools, readAgUiRequest } from './request.js';
import { agUiRun } from './runAgUi.js';
import type { AgUiRunOptions } from './runAgUi.js';

/** A handler of the requests of AG-UI clients. */
export interface AgUiHandler extends OwnerData {
  (request: Request): Promise<Response>;
}

/** Options of `agUiHandler`. `C` is the type of the user's own value for tools. */
export interface AgUiHandlerOptions<C = unknown>
  extends
    AgUiResponseOptions,
    AgUiRunOptions,
    Pick<ServiceOptions<C>, 'store' | 'owner' | LimitOptions | 'heartbeat' | 'onError' | EdgeOptions> {
  /**
   * Identifies the client: returns the option `context` of the run. If it throws, the request is answered with 403.
   * Default: every request is allowed, and the context is undefined.
   */
  readonly context?: ((request: Request) => C | ObservableInput<C>) | undefined;
}

/**
 * Creates the service of an AG-UI client (CopilotKit, `HttpAgent`): a function from a web `Request` to a `Response`
 * (Hono, Next, Deno, Bun, edge).
 *
 * <span class="informal">An agent at a URL, for every front end that speaks AG-UI.</span>
 *
 * Each request is a run. It has the tools of its client, so the agent is created per request, which costs nothing: an
 * agent has no state. Closing the connection (`HttpAgent.abortRun`) aborts the model's request and the running tools. A
 * run that waits for an approval, or for a tool of the client, is stored with its checkpoint, and the request with the
 * answers resumes it. The client chooses the id of its thread. The threads of different owners are separate.
 *
 * ```ts
 * const handler = agUiHandler((tools) => createAgent({ model, tools: [...ownTools, ...tools] }));
 * ```
 *
 * @param agentFor Creates the agent of a request, with the tools that its client executes. The state and the properties
 * in the request are not trusted: the client writes them.
 * @param options `context` and `owner` (default: every request is allowed, and all users are one owner), `store`
 * (default: in memory), `allowedHosts` and `allowedOrigins` (default: any), `allowFileUrl` (default: https),
 * `instructions` (default: `user`), `clientTools` (default: none), `maxBodyBytes` (default: 1000000), `heartbeat` in
 * milliseconds (default: 15000), `headers`, `describeCall`, `describeError`, `onError`.
 * `maxRunsPerOwner` is 100 by default, and `budget` of an owner unlimited.
 * @returns The handler. It answers 400, 403, 405, 408, 413, 415, 421, 429 or 503 if the request is not valid or cannot
 * be served; the Promise does not reject.
 */
export function agUiHandler<C = unknown>(
  agentFor: (tools: readonly Tool[], request: RunAgentInput) => HandledAgent<C>,
  given: AgUiHandlerOptions<C> = {},
): AgUiHandler {
  const service = createService<C>(given, 1_000_000);
  const options = { ...given, onError: service.onError };

  const run = (input: RunAgentInput, client: Client<C>): Observable<Response> => {
    const events = defer(() => agUiRun(service, agentFor(clientTools(input), input), input, client, options));
    const { owner, context } = client;
    const size = estimateSize(input);
    return service.admit(owner, service.held.admit(owner, size, events)).pipe(
      map((start) => {
        const shown = start({ stop: NEVER, cancel: NEVER, prompts: NEVER }).pipe(
          service.count(owner),
          service.held.count(owner, () => size),
          service.reportResult(context),
          publicEvents(options),
        );
        return agUiResponse(shown, input, options);
      }),
      catchError((thrown: unknown) => {
        if (thrown instanceof RequestError) throw thrown;
        return of(
          agUiResponse(
            throwError(() => thrown),
            input,
            options,
          ),
        ); // a failed run, for AG-UI
      }),
    );
  };
  const answer = (request: Request): Observable<Response> => {
    if (request.method !== 'POST') throw new RequestError(405, 'Send POST.', { allow: 'POST' });
    requireJson(request);
    return service.authorize(options.context && (() => options.context?.(request) as C)).pipe(
      concatMap((client) =>
        service.readBody(request).pipe(
          map((body) => readAgUiRequest(tryParseJson(body))),
          tap(({ threadId, runId }) => [threadId, runId].forEach(requireName)),
          concatMap((input) => run(input, client)),
        ),
      ),
    );
  };
  /** An incomplete body makes the request invalid. */
  const fail = (thrown: unknown): Response => {
    const { status = 400, headers = {} } = thrown instanceof RequestError ? thrown : {};
    const isOurs = thrown instanceof RequestError || thrown instanceof AgUiRequestError;
    const message = isOurs ? thrown.message : 'The request could not be read.';
    return Response.json({ error: { message } }, { status, headers });
  };
  return Object.assign(service.handler(answer, fail), service.ownerData);
}
