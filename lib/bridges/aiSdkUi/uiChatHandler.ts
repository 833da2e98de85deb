import { catchError, concatMap, defer, firstValueFrom, map, of, take, throwIfEmpty } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { HandledAgent } from '../../ui/agentHandlerOptions.js';
import { refused, RequestError } from '../../ui/agentRequest.js';
import { createRuns } from '../../ui/createRuns.js';
import { settled } from '../../ui/settled.js';
import { chatIdOf, problemResponse, readChatRequest } from './chatRequest.js';
import type { ChatRequest } from './chatRequest.js';
import { ChatRuns } from './chatRuns.js';
import { fromUiMessages, isUiMessage } from './fromUiMessages.js';
import { readResponses, recentResponses } from './responseStore.js';
import type { ResponseStore } from './responseStore.js';
import { messageResponse } from './uiMessageResponse.js';
import type { UiMessageResponseOptions } from './uiMessageResponse.js';

/** Options of `uiChatHandler`. `C` is the type of the user's own value for tools. */
export interface UiChatOptions<C = unknown> extends Omit<UiMessageResponseOptions, 'messageId' | 'continues'> {
  /** Where responses are kept. Default: in memory, the newest 1000. */
  readonly store?: ResponseStore | undefined;
  /**
   * Says who asks: the option `context` of the run. Check here whether the user may use the chat, whose id the browser
   * has chosen. If it throws, or emits nothing, the response is 403. Default: everybody may ask.
   */
  readonly context?: ((request: Request, chatId: string) => C | ObservableInput<C>) | undefined;
  /**
   * How long a run goes on without a reader, in milliseconds. `stop()` of `useChat` only closes the connection: with 0,
   * it stops the run. With a larger value, a page that is reloaded joins the run (`resume: true`), and a page stops it
   * with `DELETE`. Default: 0.
   */
  readonly grace?: number | undefined;
  /**
   * How long a run that has ended can be joined, in milliseconds. With AI SDK 7, a page that has lost its connection
   * then receives the rest; AI SDK 6 would show again what it has. Default: 0.
   */
  readonly keep?: number | undefined;
  /** The largest body of a request, in bytes. `useChat` sends the conversation, with its files. Default: 4 MB. */
  readonly maxBodyBytes?: number | undefined;
}

/** A handler of the requests of `useChat`. */
export interface UiChatHandler {
  (request: Request): Promise<Response>;
  /** Ends the service, for `SIGTERM`: as `Runs.shutdown`. */
  shutdown(how?: 'finish' | 'stop' | 'abandon'): Observable<never>;
}

/**
 * Creates the service of `useChat`: a function from a web `Request` to a `Response` (Hono, Next, Deno, Bun, edge). For
 * Node, Express and Nest, `nodeListener` converts it.
 *
 * <span class="informal">`useChat` with its default transport, and nothing else to write.</span>
 *
 * - `POST /api/chat` (`{ id, messages }`): runs the agent, or goes on with the run that waits for the browser.
 * - `GET /api/chat/:id/stream`: joins the run of a chat, from the start of its message; 204 if there is none.
 * - `DELETE /api/chat/:id/stream`: stops the run of a chat, so that it ends with its result.
 *
 * What a model wrote is kept at the server, by the id of the message: its provider data (signed thinking) and the
 * checkpoints of waiting runs never reach the browser. The browser decides which messages form the conversation, so
 * `regenerate` and edited messages work. A response that is not kept is taken from the browser; it can have an answer
 * of a client tool, but no approval.
 *
 * ```ts
 * const handler = uiChatHandler(createAgent({ model, tools }), { tools });
 * createServer(nodeListener(handler)).listen(3000);
 * ```
 *
 * @param agent What `createAgent` returns.
 * @param options `tools`: the tools of the agent, to know those that run in the browser. `store`, `context`, `grace`
 * and `keep` (default: 0), `maxBodyBytes` (default: 4 MB), and the options of `uiMessageResponse`.
 * @returns The handler. Its Promise does not reject.
 */
export function uiChatHandler<C = undefined>(agent: HandledAgent<C>, options: UiChatOptions<C> = {}): UiChatHandler {
  const { store = recentResponses(), grace = 0, keep = 0, maxBodyBytes = 4_194_304 } = options;
  const { context = () => undefined as C, headers = {} } = options;
  const runs = createRuns({ grace, keep });
  const chats = new ChatRuns(agent, runs, store, keep);

  const authorize = (request: Request, chatId: string): Observable<C> =>
    defer(() => settled(context(request, chatId))).pipe(
      take(1),
      throwIfEmpty(),
      catchError((thrown: unknown) => {
        options.onError?.(thrown);
        throw refused();
      }),
    );
  const answer = ({ id, messages }: ChatRequest, user: C): Observable<Response> => {
    const answers = messages.filter((message) => isUiMessage(message) && message.role === 'assistant');
    return readResponses(
      store,
      answers.map((message) => message.id),
    ).pipe(
      map((kept) => {
        const { messageId, earlier, run } = chats.start(id, fromUiMessages(messages, kept), user);
        const continues = messages.at(-1)?.role === 'assistant';
        return messageResponse(run, { ...options, messageId, continues }, { events: earlier, isSent: true });
      }),
    );
  };
  const post = (request: Request): Observable<Response> =>
    readChatRequest(request, maxBodyBytes).pipe(
      concatMap((chat) => authorize(request, chat.id).pipe(concatMap((user) => answer(chat, user)))),
    );
  const join = (chatId: string): Response => {
    const chat = chats.get(chatId);
    if (!chat) return new Response(null, { status: 204, headers });
    const { messageId, earlier, run } = chat;
    return messageResponse(run, { ...options, messageId }, { events: earlier, isSent: false });
  };
  const stop = (chatId: string): Response => {
    chats.stop(chatId);
    return new Response(null, { status: 204, headers });
  };
  const respond = (request: Request): Observable<Response> => {
    const { method } = request;
    if (method === 'POST') return post(request);
    if (method !== 'GET' && method !== 'DELETE') throw new RequestError(405, 'Send POST, GET or DELETE.');
    const chatId = chatIdOf(request);
    if (chatId === undefined) throw new RequestError(404, 'Use the URL <api>/<id of the chat>/stream.');
    return authorize(request, chatId).pipe(map(() => (method === 'GET' ? join(chatId) : stop(chatId))));
  };
  const handle = (request: Request) =>
    firstValueFrom(
      defer(() => respond(request)).pipe(
        catchError((thrown: unknown) => {
          const response = problemResponse(thrown, headers);
          if (response.status === 500) options.onError?.(thrown);
          return of(response);
        }),
      ),
      { defaultValue: problemResponse(undefined, headers) }, // of a store that emits nothing
    );
  const shutdown = (how?: 'finish' | 'stop' | 'abandon') =>
    defer(() => {
      chats.close();
      return runs.shutdown(how);
    });
  return Object.assign(handle, { shutdown });
}
