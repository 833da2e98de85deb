import { catchError, concatMap, defer, firstValueFrom, map, of, take, throwIfEmpty } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import { tryParseJson } from '../../core/json/json.js';
import type { Tool } from '../../core/tool.js';
import { errorResponse, readText, refused, RequestError } from '../../ui/agentRequest.js';
import { settled } from '../../ui/settled.js';
import type { RunAgentInput } from './protocol.js';
import { AgUiRequestError, clientTools, readAgUiRequest } from './request.js';
import { runAgUi } from './runAgUi.js';
import type { AgUiAgent, AgUiStore, RunAgUiOptions } from './runAgUi.js';
import { agUiResponse } from './sendAgUi.js';
import type { SendAgUiOptions } from './sendAgUi.js';

/** Options of `agUiHandler`. `C` is the type of the user's own value for tools. */
export interface AgUiHandlerOptions<C = unknown>
  extends SendAgUiOptions, Pick<RunAgUiOptions, 'clientTools' | 'instructions'> {
  /**
   * Says who asks: the option `context` of the run. If it throws, the request is answered with 403. Default: everybody
   * may ask, and the context is undefined.
   */
  readonly context?: ((request: Request) => C | ObservableInput<C>) | undefined;
  /** Where the runs that wait are kept. Default: in memory, until the process ends. */
  readonly store?: AgUiStore | undefined;
  /**
   * The key of a thread in the store. The client chooses the id of its thread, and may choose that of another user: add
   * who asks, as `context` says. Default: the thread's id.
   */
  readonly threadKey?: ((threadId: string, context: C) => string) | undefined;
  /** The size of a request that is answered with 413, in bytes. Default: 1000000. */
  readonly maxBodyBytes?: number | undefined;
}

/**
 * Creates the service of an AG-UI client (CopilotKit, `HttpAgent`): a function from a web `Request` to a `Response`
 * (Hono, Next, Deno, Bun, edge).
 *
 * <span class="informal">An agent at a URL, for every front end that speaks AG-UI.</span>
 *
 * Each request is a run. It has the tools of its client, so the agent is created per request, which costs nothing: an
 * agent has no state. Closing the connection (`HttpAgent.abortRun`) aborts the model's request and the running tools.
 * A run that waits for an approval, or for a tool of the client, is kept with its checkpoint, and the request with the
 * answers goes on with it.
 *
 * ```ts
 * const handler = agUiHandler((tools) => createAgent({ model, tools: [...ownTools, ...tools] }));
 * ```
 *
 * @param agentFor Creates the agent of a request, with the tools that its client executes. The request has the state
 * and the properties that the client has forwarded: they are not trusted.
 * @param options `context` (default: everybody may ask), `store` (default: in memory), `threadKey` (default: the
 * thread's id), `instructions` (default: `user`), `clientTools` (default: none), `maxBodyBytes` (default: 1000000),
 * `heartbeat` in milliseconds (default: 15000), `headers`, `describeCall`, `describeError`, `onError`.
 * @returns The handler. It answers 400, 403, 405 and 413 to what is not a valid request; the Promise does not reject.
 */
export function agUiHandler<C = unknown>(
  agentFor: (tools: readonly Tool[], request: RunAgentInput) => AgUiAgent<C>,
  options: AgUiHandlerOptions<C> = {},
): (request: Request) => Promise<Response> {
  const {
    store = new Map<string, Checkpoint>(),
    context,
    threadKey = (id: string) => id,
    maxBodyBytes = 1_000_000,
  } = options;

  const authorize = (request: Request): Observable<C> =>
    defer(() => settled(context?.(request) as C | ObservableInput<C>)).pipe(
      take(1),
      throwIfEmpty(),
      catchError((thrown: unknown) => {
        options.onError?.(thrown);
        throw refused();
      }),
    );
  const run = (body: string, user: C): Response => {
    const input = readAgUiRequest(tryParseJson(body));
    const run$ = defer(() => {
      const agent = agentFor(clientTools(input), input);
      return runAgUi(agent, input, { ...options, store, context: user, key: threadKey(input.threadId, user) });
    });
    return agUiResponse(run$, input, options);
  };
  const respond = (request: Request): Observable<Response> => {
    if (request.method !== 'POST') throw new RequestError(405, 'Send POST.');
    return authorize(request).pipe(
      concatMap((user) => readText(request, maxBodyBytes).pipe(map((body) => run(body, user)))),
    );
  };
  const refuse = (thrown: unknown) => of(refusal(thrown));
  return (request) =>
    firstValueFrom(defer(() => respond(request)).pipe(catchError(refuse)), { defaultValue: refusal(undefined) });
}

/** A body that breaks off is a request that is not valid. */
function refusal(thrown: unknown): Response {
  if (thrown instanceof RequestError) return errorResponse(thrown, 'POST');
  const problem = thrown instanceof AgUiRequestError ? thrown.message : 'The request could not be read.';
  return errorResponse(new RequestError(400, problem), 'POST');
}
