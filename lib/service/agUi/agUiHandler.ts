import { catchError, concatMap, map, of, tap, throwError, type Observable } from 'rxjs';
import { tryParseFinite } from '../../core/json/json.js';
import type { Tool } from '../../core/tool.js';
import type { RunAgentInput } from '../../transport/agUi/protocol.js';
import { randomId } from '../../transport/randomId.js';
import type { HandledAgent } from '../handledAgent.js';
import { refusal, RequestError, requireJson, requireName } from '../http/requestError.js';
import { kernelOf, type Kernel } from '../kernel.js';
import { estimateSize } from '../runs/estimateSize.js';
import type { PlacedClient } from '../client.js';
import type { AgentHandler, Service } from '../service.js';
import type { ServedAgent, ServiceOptions } from '../serviceOptions.js';
import { agUiResponse, type AgUiResponseOptions } from './agUiResponse.js';
import { AgUiRequestError, clientTools, readAgUiRequest, type HistoryOptions } from './request.js';
import { agUiRun, threadRecordId } from './runAgUi.js';

export interface AgUiProtocolOptions
  extends Pick<AgUiResponseOptions, 'clientTools' | 'describeCall' | 'headers' | 'heartbeat'>, HistoryOptions {}

/** Options of `agUiHandler` in its short form. `C` is the type of the user's own value for tools. */
export interface AgUiHandlerOptions<C = unknown> extends ServiceOptions<C>, AgUiProtocolOptions {}

type AgentFor<C> = (tools: readonly Tool[], request: RunAgentInput) => HandledAgent<C>;

const MAX_BODY_BYTES = 1_000_000;
/** A client cannot join a run again, so closing the connection stops it. */
const UNJOINED = { grace: 0, keep: 0 };

/**
 * Creates the service of an AG-UI client (CopilotKit, `HttpAgent`): a function from a web `Request` to a `Response`
 * (Hono, Next, Deno, Bun, edge).
 *
 * <span class="informal">An agent at a URL, for every front end that speaks AG-UI.</span>
 *
 * Each request is a run. It has the tools of its client, so the agent is created per request, which costs nothing: an
 * agent has no state. Closing the connection (`HttpAgent.abortRun`) stops the run: it aborts the model's request and
 * the running tools. A run that waits for an approval, or for a tool of the client, is stored with its checkpoint, and
 * the request with the answers resumes it. The client chooses the id of its thread. The threads of different owners are
 * separate.
 *
 * ```ts
 * const service = createService({ agent: (tools) => createAgent({ model, tools: [...ownTools, ...tools] }) });
 * const handler = agUiHandler(service);
 * ```
 *
 * @param service What `createService` returns; its agent is a function, if it is to have the tools of its client. The
 * short form takes such a function, which also receives the request: its state and its properties are not trusted,
 * since the client writes them.
 * @param options `instructions` (default: `user`), `clientTools` (default: none), `describeCall`, `heartbeat` in
 * milliseconds (default: 15000), `headers`; in the short form also those of `createService`.
 * @returns The handler. It answers 400, 403, 405, 408, 413, 415, 421, 429 or 503 if the request is not valid or cannot
 * be served; the Promise does not reject.
 */
export function agUiHandler<C = undefined>(service: Service<C>, options?: AgUiProtocolOptions): AgentHandler;
export function agUiHandler<C = unknown>(agentFor: AgentFor<C>, options?: AgUiHandlerOptions<C>): AgentHandler;
export function agUiHandler<C>(given: Service<C> | AgentFor<C>, options: AgUiHandlerOptions<C> = {}): AgentHandler {
  const kernel = kernelOf(given as Service<C> | ServedAgent<C>, options);
  const agentFor: AgentFor<C> = typeof given === 'function' ? given : (tools) => kernel.agentFor(tools);
  return kernel.handler(
    (request) => {
      if (request.method !== 'POST') throw new RequestError(405, 'Send POST.', { allow: 'POST' });
      requireJson(request);
      return kernel.locks.arrived((place) =>
        kernel.access.authorize(request).pipe(
          concatMap((client) =>
            kernel.readBody(request, MAX_BODY_BYTES, client.owner).pipe(
              map((body) => readAgUiRequest(tryParseFinite(body))),
              tap(({ threadId, runId }) => [threadId, runId].forEach(requireName)),
              concatMap((input) => answerRun(kernel, agentFor, input, { ...client, place }, options)),
            ),
          ),
        ),
      );
    },
    (thrown) =>
      refusal(thrown instanceof AgUiRequestError ? new RequestError(400, thrown.message) : thrown, kernel.onError),
  );
}

function answerRun<C>(
  kernel: Kernel<C>,
  agentFor: AgentFor<C>,
  input: RunAgentInput,
  client: PlacedClient<C>,
  protocol: AgUiProtocolOptions,
): Observable<Response> {
  const { browser, onError } = kernel;
  const options = { ...browser, ...protocol, onError };
  const lockId = threadRecordId(client.owner, input.threadId);
  return kernel
    .register({ ...client, ...UNJOINED, id: randomId(), lockId, bytes: estimateSize(input) }, () =>
      agUiRun(kernel, agentFor(clientTools(input), input), input, client, options),
    )
    .pipe(
      catchError((thrown: unknown) => {
        if (thrown instanceof RequestError) throw thrown;
        return of(throwError(() => thrown)); // a failed run, for AG-UI
      }),
      map((run) => agUiResponse(run, input, options)),
    );
}
