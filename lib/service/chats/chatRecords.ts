import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  ignoreElements,
  map,
  of,
  throwError,
  toArray,
  type Observable,
} from 'rxjs';
import { RequestError } from '../http/requestError.js';
import { allPages } from '../runs/allPages.js';
import { requireDone } from '../runs/changeRecord.js';
import { RunTakenError } from '../runs/runErrors.js';
import { retryTaken } from '../runs/workLocks.js';
import type { ChatRecord, ChatStore, StoredChat } from './chatStore.js';

/** The chats of a store that the service has guarded, each for its owner only. */
export class ChatRecords {
  constructor(readonly store: ChatStore) {}

  /** Emits undefined if the owner has no such chat. One that was deleted has left a mark. */
  find(id: string, owner: string): Observable<StoredChat | undefined> {
    return this.store.get(id).pipe(map((stored) => (stored?.record.owner === owner ? stored : undefined)));
  }

  /** Fails with 404 if the owner has no such chat, or has deleted it. */
  found(id: string, owner: string): Observable<StoredChat> {
    return this.find(id, owner).pipe(
      map((stored) => {
        if (!stored || isDeleted(stored.record)) throw notFound();
        return stored;
      }),
    );
  }

  /** Does `work` with a chat until it emits true: false says that another request has changed the chat. */
  retry(id: string, owner: string, work: (chat: StoredChat) => Observable<boolean>): Observable<StoredChat> {
    return this.found(id, owner).pipe(
      concatMap((chat) => work(chat).pipe(requireDone(chat))),
      retryTaken(),
      catchError((thrown: unknown) => throwError(() => (thrown instanceof RunTakenError ? busy() : thrown))),
    );
  }

  /** Changes a chat, unless `change` returns undefined. Emits the chat as it is then. */
  update(id: string, owner: string, change: (record: ChatRecord) => ChatRecord | undefined): Observable<StoredChat> {
    return defer(() => {
      let changed: StoredChat | undefined;
      return this.retry(id, owner, ({ record: before, version }) => {
        const record = change(before);
        changed = record && { record, version: version + 1 };
        return record ? this.store.put(record, version) : of(true);
      }).pipe(map((chat) => changed ?? chat));
    });
  }

  /** Fails with 429 if the owner has as many chats already. */
  requireRoom(owner: string, maxChats: number): Observable<never> {
    return allPages((cursor) => this.store.list({ owner, cursor })).pipe(
      concatMap(({ records }) => records),
      toArray(),
      concatMap((records) => {
        const deleted = records.filter(isDeleted);
        if (records.length - deleted.length >= maxChats) throw tooMany(maxChats);
        const oldest = records.length >= maxChats ? deleted.at(-1) : undefined; // the newest change is listed first
        return oldest ? this.store.delete(oldest.id, oldest.version).pipe(ignoreElements()) : EMPTY;
      }),
    );
  }
}

/** How long a chat that was deleted stays so for a device that was offline: 90 days, in milliseconds. */
const MARK_TIME = 7_776_000_000;

export const isDeleted = ({ state }: Pick<ChatRecord, 'state'>): boolean => state === 'deleted';

/** What is left of a chat that was deleted. */
export const deletedMark = ({ id, owner }: ChatRecord, now: number): ChatRecord => {
  const expires = now + MARK_TIME;
  return { id, owner, title: '', updated: now, expires, state: 'deleted', saved: {} };
};

export const notFound = () => new RequestError(404, 'There is no such chat.', {}, { code: 'chat_not_found' });
const busy = () =>
  new RequestError(409, 'Other requests changed the chat. Send the request again.', {}, { code: 'chat_busy' });
const tooMany = (max: number) =>
  new RequestError(429, `You have ${max} chats. Delete one of them.`, {}, { code: 'too_many_chats', params: { max } });
