import { concat, concatMap, EMPTY, ignoreElements, map, of, tap } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { isMessage, isResult, isToolWaiting } from '../../core/eventGuards.js';
import { isRecord, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { createEventLog } from '../runs/eventLog.js';
import type { OwnerData } from '../ownerData.js';
import type { RunPlan } from '../runs/executeRun.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import { namedId, RequestError, requireJson, requireName } from '../http/requestError.js';
import { requireFileUrls } from '../http/fileUrls.js';
import { createPublisher } from '../publicEvents.js';
import { createService } from '../service.js';
import type { HandledAgent } from '../handledAgent.js';
import type { Client } from '../runs/runAccess.js';
import type { EdgeOptions, LimitOptions, ServiceOptions } from '../serviceOptions.js';
import type { SharedRun } from '../runs/sharedRun.js';
import { randomId } from '../../transport/randomId.js';
import type { UiMessage } from './chunks.js';
import { fromUiMessages, isUiMessage } from './fromUiMessages.js';
import type { KeptResponse, UiConversation } from './fromUiMessages.js';
import { messageResponse } from './uiMessageResponse.js';
import type { UiMessageResponseOptions } from './uiMessageResponse.js';

/** Options of `uiChatHandler`. `C` is the type of the user's own value for tools. */
export interface UiChatOptions<C = unknown>
  extends
    Omit<UiMessageResponseOptions, 'messageId' | 'continues'>,
    Pick<ServiceOptions<C>, 'store' | 'owner' | LimitOptions | EdgeOptions> {
  /**
   * Identifies the client: returns the option `context` of the run. Check here whether the user may use the chat, whose
   * id the browser has chosen. If it throws, or emits nothing, the response is 403. Default: every request is allowed.
   */
  readonly context?: ((request: Request, chatId: string) => C | ObservableInput<C>) | undefined;
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

/** A handler of the requests of `useChat`. */
export interface UiChatHandler extends OwnerData {
  (request: Request): Promise<Response>;
  /** Ends the service, for `SIGTERM`: as `Runs.shutdown`. */
  shutdown(how?: 'finish' | 'stop' | 'abandon'): Observable<never>;
}

/** The newest run of a chat. */
interface ChatRun {
  readonly runId: string;
  readonly owner: string;
  /** The id of the message that it writes. */
  readonly messageId: string;
  /** The events of the message before this run. */
  readonly earlier: readonly StreamEvent[];
}

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
 * const handler = uiChatHandler(createAgent({ model, tools }), { tools });
 * createServer(nodeListener(handler)).listen(3000);
 * ```
 *
 * @param agent What `createAgent` returns.
 * @param options `tools`: the tools of the agent, to know those that run in the browser. `context` and `owner`
 * (default: every request is allowed, and all users are one owner), `store` (default: in memory), `grace` and `keep`
 * (default: 0), `allowedHosts` and `allowedOrigins` (default: any), `allowFileUrl` (default: https), `maxBodyBytes`
 * (default: 4 MB), `maxHistoryBytes` (default: 4 MB), `maxRunsPerOwner` (default: 100), `budget` of each owner
 * (default: none), and the options of `uiMessageResponse`.
 * @returns The handler. Its Promise does not reject.
 */
export function uiChatHandler<C = undefined>(agent: HandledAgent<C>, options: UiChatOptions<C> = {}): UiChatHandler {
  const { grace = 0, keep = 0, headers = {} } = options;
  const service = createService<C>({ ...options, grace, keep }, 4_194_304);
  const { onError } = service;
  /** The newest run of each chat, by the key of the chat, in the order in which they started. */
  const chats = new Map<string, ChatRun>();

  const findChat = (key: string): (ChatRun & { readonly run: SharedRun }) | undefined => {
    const chat = chats.get(key);
    const run = chat && service.runOf(chat.runId, chat.owner);
    return run && { ...chat, run };
  };
  /** Removes chats whose run cannot be joined any more: two for each new one, so that a long run hides none of them. */
  const removeEndedChats = () => {
    for (const [key, chat] of oldest(chats, 2)) {
      chats.delete(key);
      if (service.runOf(chat.runId, chat.owner)) chats.set(key, chat);
    }
  };

  /** Starts the next run of a chat, or resumes the one that waits. Stops the previous run. */
  const start = (
    { id, messages }: ChatRequest,
    client: Client<C>,
    stored: ReadonlyMap<string, StoredRun>,
  ): Observable<Response> => {
    const { owner, context } = client;
    const toRecordId = (messageId: string) => namedId('message', owner, messageId);
    const kept = new Map(
      filterResponses(messages).flatMap((message) => {
        const response = keptResponse(stored.get(toRecordId(message.id))?.record);
        return response ? [[message.id, response] as const] : [];
      }),
    );
    const { messages: history, response } = fromUiMessages(messages, kept);
    // What the model has written is read from the store, so that its files are not those of the request.
    requireFileUrls([messages.filter((message) => !kept.has(message.id)), response?.answers.results], options);
    if (history.every(({ parts }) => parts.length === 0)) throw emptyConversation();
    const messageId = response?.id ?? randomId();
    const before = stored.get(toRecordId(messageId));
    const place = before ? service.executor.locate(before.record) : 'nowhere';
    if (place === 'here') throw new RequestError(409, 'A run writes this message already.');
    if (place === 'elsewhere') service.runElsewhere(messageId); // it throws a RequestError 503, since no log is shared

    const key = namedId('chat', owner, id);
    const previous = findChat(key);
    const checkpoint = response?.kept?.checkpoint;
    const log = createEventLog<StreamEvent>();
    const plan: RunPlan = {
      record: {
        id: toRecordId(messageId),
        owner,
        input: [],
        ...(response?.kept ? { protocol: toProtocol(response.kept.messages) } : {}),
      },
      stored: before,
      context,
      bytes: JSON.stringify(history).length,
      clientErrors: response?.answers.errors,
      restores: true,
      ended: (result) => ({ result: undefined, protocol: endedResponse(result, response, log) }),
      events: (controls) => {
        const runOptions = { ...controls, context, fragments: true, checkpoints: false } as const;
        return (
          checkpoint
            ? agent.resume(checkpoint, { ...runOptions, ...response.answers })
            : agent.stream(history, { ...runOptions, history: [] })
        ).pipe(tap((event) => isMessage(event) || isResult(event) || log.append(event))); // these two repeat the others
      },
    };
    const runId = randomId();
    return service.launch(plan, runId, key).pipe(
      map((run) => {
        if (previous) service.stopRun(previous.runId);
        removeEndedChats();
        const earlier = earlierEvents(response)
          .map(createPublisher(options))
          .filter((event) => !!event);
        chats.delete(key);
        chats.set(key, { runId, owner, messageId, earlier });
        const continues = messages.at(-1)?.role === 'assistant';
        return messageResponse(run, { ...options, onError, messageId, continues }, { events: earlier, isSent: true });
      }),
    );
  };
  const post = (request: Request): Observable<Response> => {
    requireJson(request);
    return service.readBody(request).pipe(
      map(readChatRequest),
      concatMap((chat) => {
        const { id, messages } = chat;
        return service.authorize(bindContext(request, id)).pipe(
          concatMap((client) => {
            const ids = filterResponses(messages).map((message) => namedId('message', client.owner, message.id));
            const work = () =>
              service.findAll(ids, client.owner).pipe(concatMap((stored) => start(chat, client, stored)));
            const last = ids.at(-1);
            return service.locked(namedId('chat', client.owner, id), client, () =>
              last === undefined ? work() : service.locked(last, client, work),
            );
          }),
        );
      }),
    );
  };
  const bindContext = (request: Request, chatId: string) =>
    options.context && (() => options.context?.(request, chatId) as C | ObservableInput<C>);
  const join = (key: string, client: Client<C>): Observable<Response> => {
    const gone = of(new Response(null, { status: 204, headers }));
    const chat = findChat(key);
    if (!chat) return concat(settleLost(key, client), gone);
    const earlier = { events: chat.earlier, isSent: false };
    const show = (run: SharedRun) => messageResponse(run, { ...options, onError, messageId: chat.messageId }, earlier);
    return service.joinable(chat.runId, chat.owner).pipe(concatMap((run) => (run ? of(show(run)) : gone)));
  };
  /** Settles the record of the last run of a chat, if this process could not write its end. */
  const settleLost = (key: string, client: Client<C>): Observable<never> => {
    const last = chats.get(key);
    if (!last) return EMPTY;
    const recordId = namedId('message', last.owner, last.messageId);
    const settle = (stored: StoredRun | undefined) =>
      stored && !findChat(key) && isLost(stored.record) ? service.settleLost(stored) : EMPTY;
    const work = () => service.find(recordId, client.owner).pipe(concatMap(settle));
    return service.locked(key, client, work).pipe(ignoreElements());
  };
  const isLost = (record: RunRecord) => record.state === 'running' && service.executor.locate(record) !== 'elsewhere';
  const answer = (request: Request): Observable<Response> => {
    const { method } = request;
    if (method === 'POST') return post(request);
    if (method !== 'GET' && method !== 'DELETE')
      throw new RequestError(405, 'Send POST, GET or DELETE.', { allow: 'POST, GET, DELETE' });
    const chatId = readChatId(request);
    return service.authorize(bindContext(request, chatId)).pipe(
      concatMap((client) => {
        const key = namedId('chat', client.owner, chatId);
        if (method === 'GET') return join(key, client);
        service.stopLocked(key, client.owner);
        service.stopRun(findChat(key)?.runId ?? '');
        return of(new Response(null, { status: 204, headers }));
      }),
    );
  };
  /** `useChat` shows the text of the response as the message of the error. */
  const fail = (thrown: unknown): Response => {
    const error = toRequestError(thrown);
    if (error.status === 500) onError(thrown);
    const all = { 'content-type': 'text/plain; charset=utf-8', ...error.headers, ...headers };
    return new Response(error.message, { status: error.status, headers: all });
  };
  return Object.assign(service.handler(answer, fail), { shutdown: service.shutdown, ...service.ownerData });
}

/** The first entries of a map, as a copy. */
function oldest<K, V>(map: ReadonlyMap<K, V>, count: number): (readonly [K, V])[] {
  const entries: (readonly [K, V])[] = [];
  for (const entry of map) if (entries.push(entry) === count) break;
  return entries;
}

/** How many messages a request may have. Each response among them is read from the store. */
const MAX_MESSAGES = 2000;

/** The body of a POST from `DefaultChatTransport`. */
interface ChatRequest {
  readonly id: string;
  readonly messages: readonly UiMessage[];
}

function readChatRequest(text: string): ChatRequest {
  const body = tryParseJson(text);
  if (!isRecord(body) || typeof body['id'] !== 'string' || !Array.isArray(body['messages']))
    throw new RequestError(400, 'The body is not a request of useChat. Send { id, messages } as JSON.');
  if (body['messages'].length > MAX_MESSAGES)
    throw new RequestError(413, `Send at most ${MAX_MESSAGES} messages. Start another chat.`);
  return { id: requireName(body['id']), messages: body['messages'] as readonly UiMessage[] };
}

/** Reads the id of the chat from a URL that ends with `/<id>/stream`. */
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

/** Returns the model's responses in a conversation of the browser. */
const filterResponses = (messages: readonly UiMessage[]) =>
  messages.filter((message) => isUiMessage(message) && message.role === 'assistant');

/** Reads the response in a record; undefined if its run has not ended, or failed. */
function keptResponse(record: RunRecord | undefined): KeptResponse | undefined {
  const { protocol, checkpoint } = record ?? {};
  return protocol ? { ...(protocol as unknown as KeptResponse), checkpoint } : undefined;
}

const toProtocol = (messages: KeptResponse['messages'], events?: KeptResponse['events']) =>
  ({ messages, ...(events ? { events } : {}) }) as unknown as JsonObject;

/** Returns the events of a response before this run. Omits `toolWaiting` of answered calls. */
function earlierEvents(response: UiConversation['response']): readonly StreamEvent[] {
  const { kept, answers } = response ?? {};
  const answered = { ...answers?.decisions, ...answers?.results, ...answers?.errors };
  return (kept?.events ?? []).filter((event) => !isToolWaiting(event) || !Object.hasOwn(answered, event.id));
}

/** Creates the record of a response at the end of its run: its messages; if the run waits, its events as well. */
function endedResponse(
  { messages, checkpoint }: RunResult,
  response: UiConversation['response'],
  log: ReturnType<typeof createEventLog<StreamEvent>>,
): JsonObject {
  const { messages: before = [], kept } = response ?? {};
  const resumed = kept?.checkpoint?.emitted.messages.length ?? 0; // they are in the result as well
  const all = [...before.slice(0, before.length - resumed), ...messages];
  if (!checkpoint) return toProtocol(all);
  const events = [...earlierEvents(response)];
  for (let reader = log.reader(), next = reader.next(); next; next = reader.next()) events.push(next.event);
  return toProtocol(all, events);
}

const emptyConversation = () =>
  new ConfigurationError('history', 'There is nothing to answer: the messages have no text and no file.', 'Send one.');
