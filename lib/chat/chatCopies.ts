import { asapScheduler, distinctUntilChanged, filter, finalize, map, observeOn, startWith, switchMap, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { isSavedConversation } from './savedConversation.js';
import { storeSaved } from './smallerSaved.js';
import { lockTab } from './tabLock.js';
import { tryParseJson } from '../core/json/json.js';
import type { ChatSummary } from '../transport/chatSummary.js';
import type { OpenedChat, RemoteChats } from './remoteChats.js';

/** The copies of chats in a browser. */
export interface ChatCopies {
  /** The copy of a chat, for the option `saved` of `conversation`; null if there is none. */
  read(id: string): string | null;
  /**
   * Whether the service has something that this browser does not have: there is no copy, or it is an older version
   * that was written completely.
   *
   * @param chat The entry of the chat in the list.
   */
  isOld(chat: Pick<ChatSummary, 'id' | 'version'>): boolean;
  /** Reads a chat from the service into its copy, and emits it. Create the conversation again then. */
  fetch(id: string): Observable<OpenedChat>;
  /**
   * Writes the copy of a chat to the service: now, and whenever it has changed. One tab does this at a time, for the
   * changes of all tabs; the next one goes on when that is closed. It emits and fails as `RemoteChats.keep` does.
   *
   * @param id The id of the chat.
   * @param changed$ Emits when this tab or another one may have changed the copy: what `persist` emits, or any value.
   */
  keep(id: string, changed$: Observable<unknown>): Observable<OpenedChat>;
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
 * @param keyOf Returns the key of the copy of a chat. Default: its id. With ` version`, it is the key of its version.
 * @returns The copies.
 */
export function chatCopies(
  chats: RemoteChats,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
  keyOf: (id: string) => string = (id) => id,
): ChatCopies {
  const versionKey = (id: string) => `${keyOf(id)} version`;
  const read = (id: string) => storage.getItem(keyOf(id));
  /** The version at the service that equals the copy; undefined if the copy has changed since. */
  const versionOf = (id: string): number | undefined => {
    const version = storage.getItem(versionKey(id));
    return version === null ? undefined : Number(version);
  };
  const readSaved = (text: string | null) => {
    const copy = tryParseJson(text ?? '');
    return isSavedConversation(copy) ? copy : undefined;
  };
  /** A version that is not stored is unknown: the next write is merged. */
  const setVersion = (id: string, version: number) => {
    try {
      storage.setItem(versionKey(id), String(version));
    } catch {
      storage.removeItem(versionKey(id)); // the storage is full; whoever stores the copy reports that
    }
  };
  const write = (id: string, changed$: Observable<unknown>): Observable<OpenedChat> => {
    const [version, saved] = [versionOf(id), readSaved(read(id))];
    const saved$ = changed$.pipe(
      startWith(undefined),
      observeOn(asapScheduler), // after the write of this change
      // What `persist` emits is complete, also if the storage is full.
      map((value) => (isSavedConversation(value) ? JSON.stringify(value) : read(id))),
      distinctUntilChanged(),
      map((text, changes) => {
        if (changes > 0) storage.removeItem(versionKey(id));
        return readSaved(text);
      }),
      filter((copy) => copy !== undefined),
    );
    return chats.keep({ saved$ }, version !== undefined && saved ? { id, version, saved } : { id }).pipe(
      tap((kept) => {
        if (JSON.stringify(kept.saved) === read(id)) setVersion(id, kept.version);
      }),
    );
  };
  return {
    read,
    isOld({ id, version }) {
      if (read(id) === null) return true;
      const known = versionOf(id);
      return known !== undefined && known < version;
    },
    fetch: (id) =>
      chats.open(id).pipe(
        tap(({ saved, version }) => {
          const stored = storeSaved(storage, keyOf(id), saved);
          if (stored === JSON.stringify(saved)) setVersion(id, version);
          else storage.removeItem(versionKey(id));
        }),
      ),
    keep: (id, changed$) =>
      lockTab(id).pipe(switchMap((lock) => write(id, changed$).pipe(finalize(() => lock.release())))),
    remove(id) {
      storage.removeItem(keyOf(id));
      storage.removeItem(versionKey(id));
    },
  };
}
