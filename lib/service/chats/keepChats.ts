import { asyncScheduler, bufferCount, catchError, concat, concatMap, defer, from, map, mergeMap, of } from 'rxjs';
import { subscribeOn, take, throwError, throwIfEmpty, type Observable, type ObservableInput } from 'rxjs';
import { requireNumber } from '../../core/options.js';
import { answerWithin } from '../../core/timeLimit.js';
import type { ChatPage } from '../../transport/chatSummary.js';
import { PAUSE } from '../runs/allPages.js';
import { ChatRecords, deletedMark, isDeleted, notFound } from './chatRecords.js';
import type { ChatAnswer, ChatRecord, ChatService, ChatStore } from './chatStore.js';
import type { ServiceChats, StoredChat } from './chatStore.js';
import { listResponse, NOT_CACHED } from '../http/listResponse.js';
import { RequestError } from '../http/requestError.js';
import { readBody } from '../http/readBody.js';
import type { Client } from '../client.js';
import { settled } from '../../core/settled.js';
import { isUnguessable } from '../../transport/randomId.js';
import { defaultTitle, earlierRuns, promptOf, readSave, readTitle, runsOf, titleFrom } from './chatRequests.js';

/** Options of `keepChats`. `C` is the type of the user's own value for tools. */
export interface KeepChatsOptions<C> {
  /**
   * Returns the title of a new chat: a text, a Promise or an Observable of one, for example the answer of a small
   * model. The request that creates the chat is answered when the title is there, after 20 s at the latest; if the
   * function fails, the chat keeps the default. Default: the first line of the first prompt, at most 80 characters.
   *
   * @param prompt The text of the first prompt.
   * @param context What the option `context` of the service has returned.
   */
  readonly title?: ((prompt: string, context: C) => string | ObservableInput<string>) | undefined;
  /** The size of a chat that is answered with 413, in bytes. Default: 4 MiB. */
  readonly maxBytes?: number | undefined;
  /** How many chats an owner may have. Another one is answered with 429. Default: 500. */
  readonly maxChats?: number | undefined;
}

const DEFAULT_MAX_BYTES = 4_194_304;
const DEFAULT_MAX_CHATS = 500;
/** How long the title of a new chat may take, in milliseconds. Less than a request may take. */
const TITLE_TIME = 20_000;
const DELETES_AT_ONCE = 16;
/** Other requests are served after so many: a chat may name as many runs as have room in it. */
const DELETES_IN_A_ROW = 256;

/**
 * Keeps the chats of the users of an `agentHandler`, so that each can be listed and opened on another device.
 *
 * <span class="informal">`localStorage`, but at the service: one list for all devices of a user.</span>
 *
 * A page writes a chat with `remoteChats`. What it wrote is only shown to the same owner again: the model reads the
 * runs in the store of the service, never the text of a chat. Two devices that change a chat at once lose nothing: the
 * service refuses an old version with 409, and the page merges its change into the newest one.
 *
 * All requests go to the URL of the handler. The id of a chat is unguessable; the client creates it.
 *
 * - `GET` lists the chats of the owner, latest change first, 100 at a time: `{ chats, next }`; `?cursor=` continues.
 * - `GET ?chat=ID` returns `{ id, title, updated, version, saved }`, or 404.
 * - `PUT ?chat=ID` with `{ version, saved, runs }` replaces that version (0: a new chat), and returns the chat without
 *   `saved`. The `runs` of exchanges for which `saved` has no room are deleted with the chat. 409 with the chat, if
 *   there is another version; 404, if it was deleted.
 * - `PATCH ?chat=ID` with `{ title }` renames it.
 * - `DELETE ?chat=ID` stops and deletes its runs, then the chat: 204, or 404. Its id stays known for 90 days, so that a
 *   device that was offline does not create it again: the runs that its `PUT` names are deleted, too. A `PUT` with
 *   `restore: true` creates it again.
 *
 * ```ts
 * const handler = agentHandler<User>(agent, {
 *   context: (request) => userOf(request),
 *   owner: ({ id }) => id,
 *   chats: keepChats(memoryStore()),
 * });
 * ```
 *
 * @param store `memoryStore()`, `postgresStore(pool, { kind: 'chat' })` of `rivulet/postgres`, or a `RecordStore` of
 * your own.
 * @param options `title` (default: of the first prompt), `maxBytes` of a chat (default: 4 MiB), `maxChats` of an owner
 * (default: 500).
 * @returns The value of the option `chats` of a service.
 */
export function keepChats<C = unknown>(store: ChatStore, options: KeepChatsOptions<C> = {}): ServiceChats<C> {
  const { maxBytes = DEFAULT_MAX_BYTES, maxChats = DEFAULT_MAX_CHATS, title } = options;
  requireNumber('maxBytes', maxBytes, 0);
  requireNumber('maxChats', maxChats, 0);
  const answers: Readonly<Record<string, Answer<C>>> = {
    GET: openChat,
    PUT: saveChat({ maxBytes, maxChats, title }),
    PATCH: renameChat(maxBytes),
    DELETE: removeChat,
  };
  return {
    store,
    answer(request, client, service) {
      const { searchParams } = new URL(request.url);
      const id = searchParams.get('chat');
      const { method } = request;
      const chats = new ChatRecords(service.store);
      if (id === null && method === 'GET')
        return listResponse(request, (cursor) => listChats(chats, client.owner, cursor));
      if (!isUnguessable(id)) throw new RequestError(400, 'Send the id of the chat as `?chat=`: a random UUID.');
      const answer = answers[method];
      if (!answer)
        throw new RequestError(405, 'Send GET, PUT, PATCH or DELETE.', { allow: Object.keys(answers).join() });
      return answer({ id, client, request, service, chats });
    },
  };
}

interface ChatRequest<C> {
  readonly id: string;
  readonly client: Client<C>;
  readonly request: Request;
  readonly service: ChatService;
  readonly chats: ChatRecords;
}

const receive = <C>({ request, client, service }: ChatRequest<C>, maxBytes: number): Observable<string> =>
  service.receive(client.owner, (note) => readBody(request, maxBytes, note));

type Answer<C> = (request: ChatRequest<C>) => Observable<ChatAnswer>;

function saveChat<C>({
  maxBytes,
  maxChats,
  title,
}: { readonly maxBytes: number; readonly maxChats: number } & KeepChatsOptions<C>): Answer<C> {
  /** Gives a new chat the title of the option, unless the user has renamed it in the meantime. */
  const addTitle = (chat: StoredChat, { chats, client, service }: ChatRequest<C>): Observable<StoredChat> => {
    if (!title) return of(chat);
    const { id, owner, title: first, saved } = chat.record;
    return defer(() => settled(title(promptOf(saved), client.context))).pipe(
      take(1),
      throwIfEmpty(() => new Error('The option `title` of keepChats has returned no title.')),
      answerWithin('The option `title` of keepChats', TITLE_TIME),
      concatMap((chosen) => {
        const changed = titleFrom(chosen);
        if (changed === '') return of(chat);
        return chats
          .update(id, owner, (record) => (record.title === first ? { ...record, title: changed } : undefined))
          .pipe(map((now) => (now.version === chat.version + 1 ? now : chat))); // the page does not have later changes
      }),
      catchError((thrown: unknown) => {
        if (thrown instanceof RequestError && thrown.status === 404) throw thrown; // it was deleted meanwhile
        service.onError(thrown);
        return of(chat);
      }),
    );
  };
  const put = (record: ChatRecord, version: number, request: ChatRequest<C>, isNew: boolean) =>
    request.chats.store.put(record, version).pipe(
      concatMap((isDone) => {
        if (!isDone) return request.chats.found(record.id, record.owner).pipe(map(conflict));
        const chat = { record, version: version + 1 };
        return of(isNew ? addTitle(chat, request).pipe(map(summary)) : summary(chat));
      }),
    );
  return (request) => {
    const { id, client, chats } = request;
    return receive(request, maxBytes).pipe(
      map(readSave),
      concatMap(({ version, saved, restore, runs }) =>
        chats.find(id, client.owner).pipe(
          concatMap((before) => {
            const isGone = before === undefined || isDeleted(before.record);
            if (!isGone && before.version !== version) return of(conflict(before));
            const changed = { updated: asyncScheduler.now(), saved, ...earlierRuns(before?.record, saved, runs) };
            if (!isGone) return put({ ...before.record, ...changed }, version, request, false);
            // A page that did not know it yet has begun these runs meanwhile.
            if (before && !restore)
              return concat(
                deleteRuns(runsOf(changed), request),
                throwError(() => notFound()),
              );
            if (version > 0) throw notFound();
            const record = { id, owner: client.owner, title: defaultTitle(promptOf(saved)), ...changed };
            return concat(chats.requireRoom(client.owner, maxChats), put(record, before?.version ?? 0, request, true));
          }),
        ),
      ),
    );
  };
}

const renameChat =
  (maxBytes: number): Answer<unknown> =>
  (request) =>
    receive(request, maxBytes).pipe(
      map(readTitle),
      concatMap((title) => request.chats.update(request.id, request.client.owner, (record) => ({ ...record, title }))),
      map(summary),
    );

const removeChat: Answer<unknown> = (request) =>
  request.chats
    .retry(request.id, request.client.owner, ({ record, version }) =>
      concat(
        deleteRuns(runsOf(record), request),
        defer(() => request.chats.store.put(deletedMark(record, asyncScheduler.now()), version)),
      ),
    )
    .pipe(map(() => new Response(null, { status: 204 })));

const deleteRuns = (runs: Iterable<string>, { client, service }: ChatRequest<unknown>): Observable<never> =>
  from(runs).pipe(
    bufferCount(DELETES_IN_A_ROW),
    concatMap((some) => from(some).pipe(subscribeOn(asyncScheduler, PAUSE))),
    mergeMap((run) => service.deleteRun(run, client.owner), DELETES_AT_ONCE),
  );

const openChat: Answer<unknown> = ({ id, client, chats }) =>
  chats.found(id, client.owner).pipe(map((chat) => withContent(chat, { headers: NOT_CACHED })));

const listChats = (chats: ChatRecords, owner: string, cursor?: string): Observable<ChatPage> =>
  chats.store.list({ owner, cursor }).pipe(
    map(({ records, next }) => {
      const listed = records
        .filter((record) => !isDeleted(record))
        .map(({ id, title, updated, version }) => ({ id, title, updated, version }));
      return { chats: listed, next };
    }),
  );

const withoutContent = ({ record: { id, title, updated }, version }: StoredChat) => ({ id, title, updated, version });

const summary = (chat: StoredChat): Response => Response.json(withoutContent(chat));

const withContent = (chat: StoredChat, init: ResponseInit): Response =>
  Response.json({ ...withoutContent(chat), saved: chat.record.saved }, init);

const conflict = (chat: StoredChat): Response => withContent(chat, { status: 409 });
