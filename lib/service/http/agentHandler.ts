import { catchError, concatMap, isObservable, map, of, throwError, type Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { RUN_ID_HEADER } from '../../transport/fromServerSentEvents.js';
import { isUnguessable } from '../../transport/randomId.js';
import { MAX_PROMPT_BYTES, readFileAddress } from '../../transport/runFiles.js';
import type { HeartbeatOption } from '../../transport/serverSentEvents.js';
import type { HandledAgent } from '../handledAgent.js';
import type { ChatAnswer } from '../chats/chatStore.js';
import { kernelOf, type Kernel } from '../kernel.js';
import { publicEvents } from '../publicEvents.js';
import { answerOpenRun, openRun, type OpenedRun } from '../runs/openRun.js';
import type { Client } from '../client.js';
import { tellRun } from '../runs/tellRun.js';
import { waitingPage } from '../runs/waitingRuns.js';
import type { AgentHandler, Service } from '../service.js';
import type { ServiceOptions } from '../serviceOptions.js';
import { asksForWaiting, isForChats, readRequest, toRunMessage, wrongInput } from './browserRequest.js';
import type { AgentRequest } from './browserRequest.js';
import { listResponse } from './listResponse.js';
import { rejectForbiddenEdits, requireFileUrls } from './requestRules.js';
import { RequestError } from './requestError.js';
import { fileResponse, withoutRunFiles } from './runFiles.js';
import { createResponse, serverSentEvents } from './runResponse.js';

export type AgentProtocolOptions = HeartbeatOption;

/** Options of `agentHandler` in its short form. `C` is the type of the user's own value for tools. */
export interface AgentHandlerOptions<C = unknown> extends ServiceOptions<C>, AgentProtocolOptions {}

/**
 * Creates the service of a chat: a function from a web `Request` to a `Response` (Hono, Next, Deno, Bun, edge). For
 * Node, Express and Nest, `nodeListener` converts it.
 *
 * <span class="informal">The other end of `remoteAgent`: runs, reconnection, stop and approvals in one function.</span>
 *
 * A run belongs to the service, not to the connection: a reloaded page joins it again, and closing the page does not
 * stop it before the grace time is over. The service stores the messages of each run with their provider data, and the
 * checkpoint of a run that waits; a browser only sends ids. A checkpoint is used once, even if two processes share the
 * store.
 *
 * All requests go to one URL. The header `x-run-id` identifies the run: the client creates an unguessable id.
 *
 * - `POST` with `input` (a text, or messages of the user) and `history` (the `id` and the `input` of at most 1000
 *   earlier runs) starts a run, and sends its events. The same request again joins it, from `Last-Event-ID`. Only the
 *   texts and files of the messages are used, no `metadata` and no `providerOptions`.
 * - `POST` with `resume` (the id of a run that waits), `decisions`, `results` and `errors` resumes it, as another run.
 *   If it was answered already, the request must have the id of the run that resumed it, and joins that; if not: 409.
 * - `POST` with neither joins the run from its start. A run that has ended is sent again from the store.
 * - `DELETE` stops the run: 204, or 404 if it has been forgotten (`keep` after its end). With `?call=ID`, it cancels
 *   one call, and the run continues.
 * - `PATCH` with `input` sends a prompt to a run that has not ended: 204, or 404. It joins the run at the end of the
 *   turn, as a message of the user; at most 100 messages do. One that arrives after the last turn has no effect. A
 *   message with an `id` (a random UUID) joins once: a request that is repeated is answered 204, and counts once.
 * - `PATCH` with `results` and `decisions` answers questions of a run that waits in memory (`patience`): 204, or 409 if
 *   it does not.
 * - `GET` with `?file=ID.N` returns the N-th file of the input and the messages of a run. A prompt may name a file by
 *   this address: a page sends each file once.
 * - `GET` with `?state=waiting` lists the runs of the owner that wait, 100 at a time: `{ runs, next }`, each with its
 *   questions and calls in `waiting`. `?cursor=` continues.
 * - With `chats`, `GET` lists and opens the chats of a user, and `PUT`, `PATCH` and `DELETE` with `?chat=ID` change
 *   one.
 * - A browser receives what is allowed: no error text of a tool or a provider, no unknown metadata, no signatures.
 * - A run that another process executes is answered with 503 and `Retry-After`, unless the processes share a `log`.
 *
 * ```ts
 * const service = createService({ agent, context: (request) => userOf(request), owner: ({ id }) => id });
 * const handler = agentHandler(service); // with one protocol, agentHandler(agent, { context, owner }) is the same
 * createServer(nodeListener(handler)).listen(3000);
 * process.once('SIGTERM', () => handler.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param service What `createService` returns. The short form takes what `createAgent` returns, and makes a service.
 * @param options `heartbeat` in milliseconds (default: 15000); in the short form also those of `createService`.
 * @returns The handler. It answers 400 to any other request, and 403, 405, 408, 409, 413, 421, 429 or 503; the Promise
 * does not reject.
 */
export function agentHandler<C = undefined>(service: Service<C>, options?: AgentProtocolOptions): AgentHandler;
export function agentHandler<C = undefined>(agent: HandledAgent<C>, options?: AgentHandlerOptions<C>): AgentHandler;
export function agentHandler<C>(
  given: Service<C> | HandledAgent<C>,
  options: AgentHandlerOptions<C> = {},
): AgentHandler {
  const kernel = kernelOf(given, options);
  return kernel.handler((request) => {
    const answer = answerOf(kernel, request, options);
    return kernel.locks.arrived((place) =>
      kernel.access.authorize(request).pipe(concatMap((client) => answer(client, place))),
    );
  });
}

/** `place`: that of the request among the others. */
type Answer<C> = (client: Client<C>, place: number) => Observable<Response>;

/** @throws RequestError 400 or 405 */
function answerOf<C>(kernel: Kernel<C>, request: Request, options: AgentProtocolOptions): Answer<C> {
  const { access, chats, store } = kernel;
  const { method, headers, url } = request;
  const file = method === 'GET' ? readFileAddress(url) : undefined;
  if (file) return ({ owner }) => kernel.tried(() => fileResponse(file, owner, access));
  const inOrder = (what: string, answer: (client: Client<C>) => Observable<ChatAnswer>): Answer<C> => {
    return (client, place) =>
      kernel
        .locked(`${what}:${client.owner}`, client, () => answer(client), place)
        .pipe(concatMap((answered) => (isObservable(answered) ? answered : of(answered))));
  };
  if (asksForWaiting(request))
    return inOrder('waiting', ({ owner }) => listResponse(request, (cursor) => waitingPage(store, owner, cursor)));
  if (chats && isForChats(request)) {
    const chat = new URL(url).searchParams.get('chat');
    return inOrder(`chat:${chat}`, (client) => chats.answer(request, client));
  }
  const answer = Object.hasOwn(answers, method) ? answers[method] : undefined;
  if (!answer) throw new RequestError(405, 'Send POST, PATCH or DELETE.', { allow: 'POST, PATCH, DELETE' });
  const id = headers.get(RUN_ID_HEADER) ?? '';
  if (!isUnguessable(id)) throw new RequestError(400, `Send a random UUID as the header ${RUN_ID_HEADER}.`);
  return (client, place) => answer(kernel, { request, id, client, place, options });
}

interface RunRequest<C> {
  readonly request: Request;
  readonly id: string;
  readonly client: Client<C>;
  readonly place: number;
  readonly options: AgentProtocolOptions;
}

const postRun = <C>(kernel: Kernel<C>, { request, id, client, place, options }: RunRequest<C>) => {
  // A client that has received nothing but the start may start again, in another process too.
  const lastId = request.headers.get('last-event-id') ?? '';
  const after = ['', '0'].includes(lastId) ? undefined : lastId;
  return readBody(kernel, request, client).pipe(
    concatMap(({ body, size }) => {
      if (body.answers && !body.resume) throw wrongInput(); // only PATCH answers the run with the id of the header
      return kernel.limits.hold(client.owner, openRun(kernel, { id, client, place, body, after }), size, { place });
    }),
    map((run) => [run, after] as const),
    catchError((thrown: unknown) => {
      if (thrown instanceof RequestError) throw thrown;
      return of([throwError(() => thrown)] as const); // a failed run
    }),
    map(([run, from]) => send(kernel, options, run, from)),
  );
};

const tell = <C>(kernel: Kernel<C>, { request, id, client }: RunRequest<C>) =>
  (request.method === 'DELETE' ? of({ body: {} }) : readBody(kernel, request, client)).pipe(
    concatMap(({ body }: { readonly body: AgentRequest }) =>
      body.resume === undefined && body.answers
        ? answerOpenRun(kernel, id, body.answers, client)
        : tellRun(kernel, id, client, toRunMessage(request, body)),
    ),
    map((isKnown) => new Response(null, { status: isKnown ? 204 : 404 })),
  );

const answers: Readonly<Record<string, typeof postRun>> = { POST: postRun, PATCH: tell, DELETE: tell };

const readBody = <C>(kernel: Kernel<C>, request: Request, { owner }: Client<C>) =>
  kernel.readBody(request, MAX_PROMPT_BYTES, owner).pipe(
    map((text) => {
      const body = readRequest(text);
      // A new run may name files of earlier ones: the service inserts them.
      const isStart = request.method === 'POST' && body.input !== undefined;
      requireFileUrls(isStart ? [withoutRunFiles(body.input), body.history] : body, kernel.browser);
      rejectForbiddenEdits(body.answers?.decisions, kernel.browser);
      return { body, size: text.length };
    }),
  );

function send<C>(kernel: Kernel<C>, protocol: AgentProtocolOptions, run: OpenedRun, after?: string): Response {
  const { heartbeat } = protocol;
  const { onError, browser } = kernel;
  const options = { heartbeat, onError, after, describeError: (thrown: unknown) => kernel.describe(thrown) };
  const format = serverSentEvents(options, isObservable(run));
  // Another process, or the record, has the rest of a run that was left: the page connects again.
  const comesBack = kernel.isResumable || kernel.log.isShared;
  const failure = (thrown: unknown) => (comesBack && kernel.hasLeft(thrown) ? '' : format.failure(thrown));
  // The events of a shared run are public.
  const events = isObservable(run) ? run.pipe(publicEvents<StreamEvent>(browser)) : run;
  return createResponse(events, { ...format, failure }, options);
}
