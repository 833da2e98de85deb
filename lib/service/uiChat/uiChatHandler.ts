import { concat, concatMap, defer, map, of, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { isRecord, tryParseFinite } from '../../core/json/json.js';
import { requireNumbers } from '../../core/options.js';
import type { HandledAgent } from '../handledAgent.js';
import { namedId, RequestError, requireJson, requireName } from '../http/requestError.js';
import { kernelOf, type Kernel } from '../kernel.js';
import type { Client } from '../client.js';
import type { AgentHandler, Service } from '../service.js';
import type { ServiceOptions } from '../serviceOptions.js';
import { ChatRuns } from './chatRuns.js';
import type { UiMessage } from './chunks.js';
import { filterResponses, planResponse, responseId, type PlannedResponse } from './planResponse.js';
import { messageResponse, type UiMessageResponseOptions } from './uiMessageResponse.js';

export interface UiChatProtocolOptions extends Omit<UiMessageResponseOptions, 'messageId' | 'continues' | 'onError'> {
  /**
   * How long a run continues without a reader, in milliseconds. `stop()` of `useChat` only closes the connection: with
   * 0, that stops the run. With a larger value, a reloaded page joins the run (`resume: true`), and a page stops it
   * with `DELETE`. Default: 0.
   */
  readonly grace?: number | undefined;
  /**
   * How long a run can be joined after its end, in milliseconds. With AI SDK 7, a page that has lost its connection
   * then receives the rest; AI SDK 6 would show the part that it has twice. Default: 0.
   */
  readonly keep?: number | undefined;
}

/** Options of `uiChatHandler` in its short form. `C` is the type of the user's own value for tools. */
export interface UiChatOptions<C = unknown>
  extends Omit<ServiceOptions<C>, keyof UiChatProtocolOptions>, UiChatProtocolOptions {}

const MAX_BODY_BYTES = 4_194_304;

/**
 * Creates the service of `useChat`: a function from a web `Request` to a `Response` (Hono, Next, Deno, Bun, edge). For
 * Node, Express and Nest, `nodeListener` converts it.
 *
 * <span class="informal">The complete server for `useChat` with its default transport.</span>
 *
 * - `POST /api/chat` (`{ id, messages }`): runs the agent, or resumes the run that waits for the browser.
 * - `GET /api/chat/:id/stream`: joins the run of a chat, from the start of its message; 204 if there is none.
 * - `DELETE /api/chat/:id/stream`: stops the run of a chat, so that it ends with its result.
 *
 * The server stores the messages of a model by the id of the message: their provider data (signed thinking) and the
 * checkpoints of waiting runs never reach the browser. The browser decides which messages form the conversation, so
 * `regenerate` and edited messages work. A response that is not stored comes from the browser; it can contain the
 * result of a client tool, but not an approval.
 *
 * ```ts
 * const handler = uiChatHandler(createService({ agent: createAgent({ model, tools }), store }), { tools });
 * createServer(nodeListener(handler)).listen(3000);
 * ```
 *
 * @param service What `createService` returns. The short form takes what `createAgent` returns, and makes a service.
 * @param options `tools`: the tools of the agent, to know those that run in the browser. `grace` and `keep` (default:
 * 0; those of the service are for other protocols), and the options of `uiMessageResponse`; in the short form also
 * those of `createService`, with a `maxBodyBytes` of 4 MiB.
 * @returns The handler. Its Promise does not reject.
 */
export function uiChatHandler<C = undefined>(service: Service<C>, options?: UiChatProtocolOptions): AgentHandler;
export function uiChatHandler<C = undefined>(agent: HandledAgent<C>, options?: UiChatOptions<C>): AgentHandler;
export function uiChatHandler<C>(given: Service<C> | HandledAgent<C>, options: UiChatOptions<C> = {}): AgentHandler {
  const { grace = 0, keep = 0, headers = {} } = options;
  requireNumbers({ grace, keep }, 0);
  const kernel = kernelOf(given, options);
  const { onError } = kernel;
  const chat = { kernel, runs: new ChatRuns(kernel), options: { ...options, grace, keep, onError } };
  /** `useChat` shows the text of the response as the message of the error. */
  const fail = (thrown: unknown): Response => {
    const error = toRequestError(thrown);
    if (error.status === 500) onError(thrown);
    const type = { 'content-type': 'text/plain; charset=utf-8' };
    return new Response(error.message, { status: error.status, headers: { ...type, ...error.headers, ...headers } });
  };
  return kernel.handler((request) => {
    const route = Object.hasOwn(routes, request.method) ? routes[request.method] : undefined;
    if (!route) throw new RequestError(405, 'Send POST, GET or DELETE.', { allow: 'POST, GET, DELETE' });
    return route(chat, request);
  }, fail);
}

interface UiChat<C> {
  readonly kernel: Kernel<C>;
  readonly runs: ChatRuns<C>;
  readonly options: UiMessageResponseOptions & { readonly grace: number; readonly keep: number };
}

type Route = <C>(chat: UiChat<C>, request: Request) => Observable<Response>;

const postChat: Route = ({ kernel, runs, options }, request) => {
  requireJson(request);
  return kernel.locks.arrived((place) =>
    kernel.readBody(request, MAX_BODY_BYTES).pipe(
      map(readChatRequest),
      concatMap((chat) =>
        kernel.access
          .authorize(request, chat.id)
          .pipe(concatMap((client) => startRun({ kernel, runs, options }, chat, client, place))),
      ),
    ),
  );
};

const joinChat: Route = ({ kernel, runs, options }, request) => {
  const chatId = readChatId(request);
  return kernel.access.authorize(request, chatId).pipe(
    concatMap((client) => runs.find(namedId('chat', client.owner, chatId), client)),
    map((chat) => {
      if (!chat) return new Response(null, { status: 204, headers: options.headers ?? {} });
      const { run, messageId, earlier } = chat;
      return messageResponse(run, { ...options, messageId }, { events: earlier, isSent: false });
    }),
  );
};

const stopChat: Route = ({ kernel, runs, options }, request) => {
  const chatId = readChatId(request);
  const upTo = kernel.locks.last;
  return kernel.access.authorize(request, chatId).pipe(
    map(({ owner }) => {
      runs.stop(namedId('chat', owner, chatId), owner, upTo);
      return new Response(null, { status: 204, headers: options.headers ?? {} });
    }),
  );
};

const routes: Readonly<Record<string, Route>> = { POST: postChat, GET: joinChat, DELETE: stopChat };

/** Starts a run, after what is done for its chat and its message. It stops the previous run of the chat. */
function startRun<C>(
  { kernel, runs, options }: UiChat<C>,
  { id, messages, size }: ChatRequest,
  client: Client<C>,
  place: number,
): Observable<Response> {
  const { owner } = client;
  const key = namedId('chat', owner, id);
  const ids = filterResponses(messages).map((message) => responseId(owner, message.id));
  const { grace, keep } = options;
  const read = () =>
    kernel.access.findAll(ids, owner).pipe(map((stored) => planResponse(kernel, messages, client, stored)));
  const begin = ({ plan, messageId, earlier }: PlannedResponse) =>
    runs.start(key, { plan, messageId, earlier, place, grace, keep }).pipe(
      map((run) => {
        const continues = messages.at(-1)?.role === 'assistant';
        return messageResponse(run, { ...options, messageId, continues }, { events: earlier, isSent: true });
      }),
    );
  const start = () =>
    read().pipe(
      concatMap((planned) => {
        const ending = runs.endPrevious(key, ids, place);
        const current = ending ? concat(ending, defer(read)) : of(planned);
        return planned.accept(current.pipe(concatMap(begin)));
      }),
    );
  const last = ids.at(-1);
  const work = () => (last === undefined ? start() : kernel.locked(last, client, start));
  return kernel.limits.hold(owner, kernel.locked(key, client, work, place), size, { place });
}

/** How many messages a request may have. Each response among them is read from the store. */
const MAX_MESSAGES = 2000;

interface ChatRequest {
  readonly id: string;
  readonly messages: readonly UiMessage[];
  /** In bytes. */
  readonly size: number;
}

function readChatRequest(text: string): ChatRequest {
  const body = tryParseFinite(text);
  if (!isRecord(body) || typeof body['id'] !== 'string' || !Array.isArray(body['messages']))
    throw new RequestError(400, 'The body is not a request of useChat. Send { id, messages } as JSON.');
  if (body['messages'].length > MAX_MESSAGES)
    throw new RequestError(413, `Send at most ${MAX_MESSAGES} messages. Start another chat.`);
  return { id: requireName(body['id']), messages: body['messages'] as readonly UiMessage[], size: text.length };
}

function readChatId({ url }: Request): string {
  const id = /\/([^/]+)\/stream\/?$/.exec(new URL(url).pathname)?.[1];
  if (id === undefined) throw new RequestError(404, 'Use the URL <api>/<id of the chat>/stream.');
  try {
    return requireName(decodeURIComponent(id));
  } catch {
    throw new RequestError(400, 'The id of the chat in the URL is not valid.');
  }
}

function toRequestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown;
  if (thrown instanceof ConfigurationError && thrown.subject === 'history')
    return new RequestError(400, thrown.message);
  return new RequestError(500, 'The request failed.');
}
