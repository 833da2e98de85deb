import { catchError, concatMap, defer, EMPTY, ignoreElements, map, of, retry, tap, type Observable } from 'rxjs';
import type { Conversation } from './conversation.js';
import { marksOf, mergeSaved } from './mergeSaved.js';
import { isSavedConversation, savedConversation, unreadableConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { smallerSaved, type ReportError } from './smallerSaved.js';
import { HttpError, optionsError } from '../core/errors.js';
import { isRecord, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import type { ChatPage, ChatSummary } from '../transport/chatSummary.js';
import { addressOf, createRetryDelay, makeClient, pageFetch } from '../transport/pageFetch.js';
import { requireReconnection, statusError, type PageRequestOptions } from '../transport/pageFetch.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** Options of `remoteChats`. */
export interface RemoteChatsOptions extends PageRequestOptions {
  /**
   * Called with the error of a chat that is too large for the service (413). `keep` then writes its newest exchanges
   * without their files, as far as they fit. Default: nothing is called.
   */
  readonly onError?: ReportError | undefined;
}

/** A chat with its content. */
export interface OpenedChat extends ChatSummary {
  /** For the option `saved` of `conversation`. */
  readonly saved: SavedConversation;
}

/** The chats of the user at a service. Each function returns a cold Observable: subscribing sends the request. */
export interface RemoteChats {
  /**
   * Emits a page of the list, latest change first.
   *
   * @param cursor `next` of the page before. Default: the first page.
   */
  list(cursor?: string): Observable<ChatPage>;
  /** Emits a chat. It fails with an HttpError 404 if there is none. */
  open(id: string): Observable<OpenedChat>;
  /** Gives a chat another title. Emits the chat. */
  rename(id: string, title: string): Observable<ChatSummary>;
  /** Stops and deletes the runs of a chat, then the chat. Completes also if it was deleted before. */
  delete(id: string): Observable<never>;
  /** Creates a chat that was deleted again. Emits it. Its runs are not restored: the model reads only the prompts. */
  restore(id: string, saved: SavedConversation): Observable<OpenedChat>;
  /**
   * Writes each change of a conversation to the service, and emits the chat after each write, as it is there. A change
   * that another device has written meanwhile is merged, as `persist` merges those of other tabs. If writes are slow,
   * only the newest state is written.
   *
   * A chat that is too large for the service is written without its files, and then without its oldest exchanges.
   *
   * After an error, subscribe again (`retry`): it continues with what is not written yet. It fails with an HttpError
   * 404 if the chat was deleted.
   *
   * @param chat The conversation.
   * @param opened What `open` has emitted, or the `id` of a new chat: a random UUID. Without `saved`, all of the
   * conversation is written.
   */
  keep(
    chat: Pick<Conversation, 'saved$'>,
    opened: Pick<OpenedChat, 'id'> & Partial<Pick<OpenedChat, 'version' | 'saved'>>,
  ): Observable<OpenedChat>;
}

const MAX_CONFLICTS = 10;

/**
 * The chats of the user at a service: the list, and what opens, renames, deletes and keeps them. A chat that was begun
 * on one device goes on at another one.
 *
 * <span class="informal">`persist`, but at the server, with a list.</span>
 *
 * The service is an `agentHandler` with the option `chats: keepChats(...)`.
 *
 * ```ts
 * const chats = remoteChats('/api/chat');
 * chats.list().subscribe(({ chats }) => showList(chats));
 *
 * const opened = await firstValueFrom(chats.open(id)); // or { id: crypto.randomUUID() }
 * const chat = conversation(remoteAgent('/api/chat'), { saved: opened.saved });
 * chats.keep(chat, opened).subscribe({ error: (error) => console.warn(error) });
 * ```
 *
 * @param url The URL of the handler, absolute or relative to the page.
 * @param options `headers` (default: none), `retries` (default: 5), `retryDelay` in milliseconds (default: 1000),
 * `onError` (default: nothing is called), `fetch`.
 * @returns The chats. An Observable fails with an HttpError, or a ConnectionError if the service cannot be reached.
 */
export const remoteChats = (url: string, options: RemoteChatsOptions = {}): RemoteChats =>
  makeClient((made) => createRemoteChats(url, made), options);

function createRemoteChats(url: string, options: RemoteChatsOptions): RemoteChats {
  requireReconnection(options);

  const request: ChatRequest = (method, query, body, handled) =>
    pageFetch(options, addressOf(url, query), {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    }).pipe(
      map(([response, text]) => {
        const { ok, status } = response;
        if (status === 405) throw noChats(url);
        if (!ok && status !== handled) throw statusError(response, text);
        return { status, value: tryParseJson(text) };
      }),
      retry({ delay: createRetryDelay(options) }),
    );

  const open = (id: string) => request('GET', { chat: id }).pipe(map(({ value }) => readChat(value, url)));

  return {
    list: (cursor) =>
      request('GET', cursor === undefined ? {} : { cursor }).pipe(
        map(({ value }) => {
          if (isRecord(value) && Array.isArray(value['chats'])) return value as unknown as ChatPage;
          throw noChats(url);
        }),
      ),
    open,
    rename: (id, title) => request('PATCH', { chat: id }, { title }).pipe(map(({ value }) => readSummary(value, url))),
    delete: (id) => request('DELETE', { chat: id }, undefined, 404).pipe(ignoreElements()),
    restore: (id, saved) =>
      request('PUT', { chat: id }, { version: 0, saved, restore: true }, 409).pipe(
        map(({ status, value }) => (status === 409 ? readChat(value, url) : { ...readSummary(value, url), saved })),
      ),
    keep: (chat, known) => keepChat(chat, known, url, request, options.onError),
  };
}

/** Writes each version of a conversation. It merges what another device has written in the meantime. */
function keepChat(
  chat: Parameters<RemoteChats['keep']>[0],
  { id, version = 0, saved: openedWith = savedConversation([]) }: Parameters<RemoteChats['keep']>[1],
  url: string,
  request: ChatRequest,
  onError: ReportError | undefined,
): Observable<OpenedChat> {
  let known: OpenedChat = { id, title: '', updated: 0, version, saved: openedWith };
  /** What this page knew when it was written last. */
  let before = known.saved;

  let tooLarge = Infinity;

  /** `runs` are those of all exchanges: a deletion of the chat finds also those that a smaller version leaves out. */
  function put(
    versions: Iterator<SavedConversation>,
    runs: readonly unknown[],
  ): Observable<Answer & { readonly sent: SavedConversation }> {
    const next = versions.next();
    if (next.done) return EMPTY;
    const sent = next.value;
    const { length } = JSON.stringify(sent);
    if (length >= tooLarge) return put(versions, runs);
    return request('PUT', { chat: id }, { version: known.version, saved: sent, runs }, 409).pipe(
      map((answer) => ({ ...answer, sent })),
      catchError((thrown: unknown) => {
        if (!(thrown instanceof HttpError) || thrown.status !== 413) throw thrown;
        if (tooLarge === Infinity) reportRejection(onError?.(thrown));
        tooLarge = length;
        return put(versions, runs);
      }),
    );
  }

  const write = (after: SavedConversation, conflictsLeft: number): Observable<OpenedChat> =>
    defer(() => {
      const saved = mergeSaved(known.saved, marksOf(before), after);
      const runs = saved.exchanges.flatMap(({ run, lost, stopping }) => [run, lost?.run, stopping]);
      return put(smallerSaved(saved), runs).pipe(
        concatMap(({ status, value, sent }) => {
          if (status === 409) {
            known = readChat(value, url);
            if (conflictsLeft === 0) throw statusError(new Response(null, { status }));
            return write(after, conflictsLeft - 1);
          }
          known = { ...readSummary(value, url), saved };
          before = after;
          return of({ ...known, saved: sent });
        }),
      );
    });

  return defer(() => {
    let newest: SavedConversation | undefined;
    return chat.saved$.pipe(
      tap((saved) => (newest = saved)),
      concatMap((saved) => (saved === newest && !isSame(saved, before) ? write(saved, MAX_CONFLICTS) : EMPTY)),
    );
  });
}

type ChatRequest = (
  method: string,
  query: Readonly<Record<string, string>>,
  body?: object,
  handled?: number,
) => Observable<Answer>;

interface Answer {
  readonly status: number;
  readonly value: unknown;
}

const isSame = (a: SavedConversation, b: SavedConversation): boolean => JSON.stringify(a) === JSON.stringify(b);

function readSummary(value: unknown, url: string): ChatSummary {
  const { id, title, updated, version } = objectOrEmpty(value);
  if (typeof id !== 'string' || typeof title !== 'string' || typeof updated !== 'number' || typeof version !== 'number')
    throw noChats(url);
  return { id, title, updated, version };
}

function readChat(value: unknown, url: string): OpenedChat {
  const { saved } = objectOrEmpty(value);
  if (!isSavedConversation(saved)) throw unreadableConversation(saved);
  return { ...readSummary(value, url), saved };
}

const noChats = (url: string) =>
  optionsError(
    `What answers at ${url} keeps no chats.`,
    'Give its `agentHandler` the option `chats: keepChats(...)` of rivulet/service.',
  );
