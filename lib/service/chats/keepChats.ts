import { asyncScheduler, catchError, concat, concatMap, defer, EMPTY, from, map, mergeMap, of } from 'rxjs';
import { reduce, take, throwIfEmpty, timeout } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { requireNumber } from '../../core/options.js';
import type { ChatPage } from '../../transport/chatSummary.js';
import { allPages } from '../runs/allPages.js';
import type { ChatRecord, ChatService, ChatStore, ServiceChats, StoredChat } from './chatStore.js';
import { RequestError } from '../http/requestError.js';
import { readBody } from '../http/readBody.js';
import type { Client } from '../runs/runAccess.js';
import { settled } from '../../core/settled.js';
import { isUnguessable } from '../../transport/randomId.js';
import { defaultTitle, promptOf, readSave, readTitle, runsOf, titleFrom } from './chatRequests.js';

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
 * - `PUT ?chat=ID` with `{ version, saved }` replaces that version (0: a new chat), and returns the chat without
 *   `saved`. 409 with the chat, if there is another version; 404, if it was deleted.
 * - `PATCH ?chat=ID` with `{ title }` renames it.
 * - `DELETE ?chat=ID` stops and deletes its runs, then the chat: 204, or 404.
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
      const chats = createChatRecords(service.store);
      if (id === null && method === 'GET')
        return listChats(chats, client.owner, searchParams.get('cursor') ?? undefined);
      if (id === null || !isUnguessable(id))
        throw new RequestError(400, 'Send the id of the chat as `?chat=`: a random UUID.');
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

type Answer<C> = (request: ChatRequest<C>) => Observable<Response>;

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
      timeout({ first: TITLE_TIME }),
      concatMap((chosen) => {
        const changed = titleFrom(chosen);
        if (changed === '') return of(chat);
        return chats.update(id, owner, (record) =>
          record.title === first ? { ...record, title: changed } : undefined,
        );
      }),
      catchError((thrown: unknown) => {
        service.onError(thrown);
        return of(chat);
      }),
    );
  };
  /** Writes a chat. One that is new needs room, and gets its title. */
  const write = (record: ChatRecord, version: number, request: ChatRequest<C>): Observable<Response> => {
    const { chats } = request;
    return concat(
      version === 0 ? chats.requireRoom(record.owner, maxChats) : EMPTY,
      chats.put(record, version).pipe(
        concatMap((isDone) => {
          if (!isDone) return chats.found(record.id, record.owner).pipe(map(conflict));
          const chat = { record, version: version + 1 };
          return (version === 0 ? addTitle(chat, request) : of(chat)).pipe(
            map((written) => Response.json(withoutContent(written))),
          );
        }),
      ),
    );
  };
  return (request) => {
    const { id, client, chats } = request;
    return readBody(request.request, maxBytes).pipe(
      map(readSave),
      concatMap(({ version, saved }) =>
        chats.find(id, client.owner).pipe(
          concatMap((before) => {
            const updated = asyncScheduler.now();
            if (before?.version === version) return write({ ...before.record, updated, saved }, version, request);
            if (before) return of(conflict(before));
            if (version > 0) throw notFound();
            const record = { id, owner: client.owner, title: defaultTitle(promptOf(saved)), updated, saved };
            return write(record, 0, request);
          }),
        ),
      ),
    );
  };
}

const renameChat =
  (maxBytes: number): Answer<unknown> =>
  ({ id, client, request, chats }) =>
    readBody(request, maxBytes).pipe(
      map(readTitle),
      concatMap((title) => chats.update(id, client.owner, (record) => ({ ...record, title }))),
      map((chat) => Response.json(withoutContent(chat))),
    );

const removeChat: Answer<unknown> = ({ id, client: { owner }, service, chats }) =>
  chats
    .retry(id, owner, ({ record, version }) =>
      concat(
        from(runsOf(record.saved)).pipe(mergeMap((run) => service.deleteRun(run, owner), DELETES_AT_ONCE)),
        chats.delete(id, version),
      ),
    )
    .pipe(map(() => new Response(null, { status: 204 })));

const openChat: Answer<unknown> = ({ id, client, chats }) =>
  chats
    .found(id, client.owner)
    .pipe(map((chat) => Response.json({ ...withoutContent(chat), saved: chat.record.saved }, { headers: NOT_CACHED })));

const listChats = (chats: ChatRecords, owner: string, cursor: string | undefined): Observable<Response> =>
  chats.list({ owner, cursor }).pipe(
    map(({ records, next }) => {
      const listed = records.map(({ id, title, updated, version }) => ({ id, title, updated, version }));
      return Response.json({ chats: listed, next } satisfies ChatPage, { headers: NOT_CACHED });
    }),
    catchError((thrown: unknown) => {
      if (cursor === undefined || !(thrown instanceof ConfigurationError)) throw thrown;
      throw new RequestError(400, 'Send `next` of the page before as `?cursor=`.');
    }),
  );

const NOT_CACHED = { 'cache-control': 'no-store' };

const withoutContent = ({ record: { id, title, updated }, version }: StoredChat) => ({ id, title, updated, version });

const conflict = (chat: StoredChat): Response =>
  Response.json({ ...withoutContent(chat), saved: chat.record.saved }, { status: 409 });

/** How many times a change is tried again after another request changed the chat in the meantime. */
const MAX_RETRIES = 5;

/** The chats of a store that the service has guarded, each for its owner only. */
interface ChatRecords extends ChatStore {
  find(id: string, owner: string): Observable<StoredChat | undefined>;
  found(id: string, owner: string): Observable<StoredChat>;
  /** Changes a chat, unless `change` returns undefined. Emits the chat as it is then. */
  update(id: string, owner: string, change: (record: ChatRecord) => ChatRecord | undefined): Observable<StoredChat>;
  /** Does `work` with a chat until it emits true: false says that another request has changed the chat. */
  retry(id: string, owner: string, work: (chat: StoredChat) => Observable<boolean>): Observable<StoredChat>;
  /** Fails with 429 if the owner has as many chats already. */
  requireRoom(owner: string, maxChats: number): Observable<never>;
}

function createChatRecords(store: ChatStore): ChatRecords {
  const find: ChatRecords['find'] = (id, owner) =>
    store.get(id).pipe(map((stored) => (stored?.record.owner === owner ? stored : undefined)));
  const found: ChatRecords['found'] = (id, owner) =>
    find(id, owner).pipe(
      map((stored) => {
        if (!stored) throw notFound();
        return stored;
      }),
    );
  const retry = (
    id: string,
    owner: string,
    work: (chat: StoredChat) => Observable<boolean>,
    retriesLeft = MAX_RETRIES,
  ): Observable<StoredChat> =>
    found(id, owner).pipe(
      concatMap((chat) =>
        work(chat).pipe(
          concatMap((isDone) => {
            if (isDone) return of(chat);
            if (retriesLeft === 0) throw busy();
            return retry(id, owner, work, retriesLeft - 1);
          }),
        ),
      ),
    );
  return {
    find,
    found,
    ...store,
    retry,
    update: (id, owner, change) =>
      defer(() => {
        let changed: StoredChat | undefined;
        return retry(id, owner, ({ record: before, version }) => {
          const record = change(before);
          changed = record && { record, version: version + 1 };
          return record ? store.put(record, version) : of(true);
        }).pipe(map((chat) => changed ?? chat));
      }),
    requireRoom: (owner, maxChats) =>
      allPages((cursor) => store.list({ owner, cursor })).pipe(
        reduce((chats, page) => chats + page.records.length, 0),
        concatMap((chats) => {
          if (chats >= maxChats) throw tooMany(maxChats);
          return EMPTY;
        }),
      ),
  };
}

const notFound = () => new RequestError(404, 'There is no such chat.');
const busy = () => new RequestError(409, 'Other requests changed the chat. Send the request again.');
const tooMany = (max: number) => new RequestError(429, `You have ${max} chats. Delete one of them.`);
