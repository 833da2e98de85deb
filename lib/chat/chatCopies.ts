import {
  asapScheduler,
  connect,
  defer,
  EMPTY,
  filter,
  finalize,
  map,
  observeOn,
  of,
  ReplaySubject,
  startWith,
  switchMap,
  tap,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { copyStore } from './copyStore.js';
import { commonMarks, isReduced, marksOf, mergeSaved, type Marks } from './mergeSaved.js';
import { isOfLaterRelease, isSavedConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { lockTab } from './tabLock.js';
import { tryParseJson } from '../core/json/json.js';
import type { ChatSummary } from '../transport/chatSummary.js';
import type { OpenedChat, RemoteChats } from './remoteChats.js';

/** The copies of chats in a browser. */
export interface ChatCopies {
  /**
   * The copy of a chat, for the option `saved` of `conversation`; null if there is none. What the storage has no room
   * for is in it, too, as long as the page is open.
   */
  read(id: string): string | null;
  /**
   * Whether the service has something that this browser does not have: there is no copy, it cannot be read, or it is an
   * older version. A copy of a later release is not old.
   *
   * @param chat The entry of the chat in the list.
   */
  isOld(chat: Pick<ChatSummary, 'id' | 'version'>): boolean;
  /**
   * Reads a chat from the service into its copy, and emits it. What the copy has and the service lacks stays in it.
   * Create the conversation again then.
   */
  fetch(id: string): Observable<OpenedChat>;
  /**
   * Writes the copy of a chat to the service: now, and whenever it has changed. One tab does this at a time, for the
   * changes of all tabs; the next one goes on when that is closed. It emits and fails as `RemoteChats.keep` does: a
   * chat that was deleted, by whatever device, is not written again, also after a reload.
   *
   * @param id The id of the chat.
   * @param changed$ Emits when this tab or another one may have changed the copy. A value of `persist` is written also
   * if the storage had no room for it.
   */
  keep(id: string, changed$: Observable<unknown>): Observable<OpenedChat>;
  /** Creates a chat that was deleted again, from its copy, and emits it. Completes if there is none. */
  restore(id: string): Observable<OpenedChat>;
  /** Removes a copy. */
  remove(id: string): void;
}

/**
 * Keeps copies of the user's chats in the browser: a page shows them at once, also without a connection, and all tabs
 * have the same.
 *
 * <span class="informal">`persist` writes the copy, and this brings it to the service and back.</span>
 *
 * ```ts
 * const chats = remoteChats('/api/chat');
 * const copies = chatCopies(chats, localStorage);
 * const chat = conversation(remoteAgent('/api/chat'), { saved: copies.read(id) });
 * const written$ = persist(chat, localStorage, id).pipe(share());
 * written$.subscribe();
 * const writtenElsewhere$ = fromEvent<StorageEvent>(window, 'storage').pipe(filter(({ key }) => key === id));
 * copies.keep(id, merge(written$, writtenElsewhere$)).subscribe({ error: (error) => console.warn(error) });
 * ```
 *
 * @param chats What `remoteChats` returns.
 * @param storage `localStorage`, or an object with its methods.
 * @param keyOf Returns the key of the copy of a chat. Default: its id. With ` version`, it is the key of what
 * the service has of it.
 * @returns The copies.
 */
export function chatCopies(
  chats: RemoteChats,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
  keyOf: (id: string) => string = (id) => id,
): ChatCopies {
  const store = copyStore(storage, keyOf);
  const storeCommon = ({ id, version, saved }: OpenedChat): void => {
    const copy = store.saved(id);
    if (!copy) return;
    const own = marksOf(copy);
    const marks = commonMarks(store.common(id)?.marks ?? {}, marksOf(saved), own);
    const isBehind = !isSameMarks(marksOf(mergeSaved(saved, marks, copy)), own);
    store.setCommon(id, { version, marks, isBehind }, copy);
  };
  const write = (id: string, changed$: Observable<unknown>): Observable<OpenedChat> =>
    defer(() => {
      const [common, copy] = [store.common(id), store.saved(id)];
      const copy$ = changed$.pipe(
        tap((changed) => isSavedConversation(changed) && store.hold(id, changed)),
        startWith(undefined),
        observeOn(asapScheduler), // after the write of this change
        map((changed) => (isSavedConversation(changed) ? changed : store.saved(id))),
        filter((changed) => changed !== undefined),
      );
      if (!common) return chats.keep({ saved$: copy$ }, { id });
      const { version, marks, isBehind } = common;
      const isKnown = copy && !isBehind && isSameMarks(marks, marksOf(copy));
      const known$: Observable<Known> = isKnown ? of({ id, version, saved: copy }) : chats.open(id);
      const keepFrom = (known: Known, newest$: Observable<SavedConversation>) =>
        chats.keep({ saved$: newest$.pipe(map((newest) => mergeSaved(known.saved, marks, newest))) }, known);
      return copy$.pipe(
        connect((newest$) => known$.pipe(switchMap((known) => keepFrom(known, newest$))), {
          connector: () => new ReplaySubject(1), // the copy may change while the chat is read
        }),
      );
    }).pipe(tap(storeCommon));
  return {
    read: store.read,
    isOld({ id, version }) {
      const copy: unknown = tryParseJson(store.read(id) ?? '');
      if (!isSavedConversation(copy) && !isOfLaterRelease(copy)) return true;
      const common = store.common(id);
      if (!common) return isSavedConversation(copy) && copy.exchanges.some(isReduced);
      return common.isBehind || common.version < version;
    },
    fetch: (id) =>
      chats.open(id).pipe(
        map((opened) => {
          const copy = store.saved(id);
          const saved = copy ? mergeSaved(opened.saved, store.common(id)?.marks ?? {}, copy) : opened.saved;
          store.write(id, saved);
          storeCommon(opened);
          return { ...opened, saved };
        }),
      ),
    keep: (id, changed$) =>
      lockTab(id).pipe(switchMap((lock) => write(id, changed$).pipe(finalize(() => lock.release())))),
    restore: (id) =>
      defer(() => {
        const copy = store.saved(id);
        return copy ? chats.restore(id, copy) : EMPTY;
      }).pipe(tap(storeCommon)),
    remove: (id) => store.remove(id),
  };
}

type Known = Pick<OpenedChat, 'id' | 'version' | 'saved'>;

const isSameMarks = (a: Marks, b: Marks): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};
