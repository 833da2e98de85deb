import { defer, filter, finalize, map, merge as mergeStreams, skip, takeWhile, type Observable } from 'rxjs';
import type { Conversation } from './conversation.js';
import { mergeSaved } from './mergeSaved.js';
import { leaveWrites, parseStored, takeWrites } from './ownWrites.js';
import { storageChanges } from './savedElsewhere.js';
import { isOfLaterRelease, isSavedConversation, unreadableConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { isUnstored, storeSaved, type ReportError } from './smallerSaved.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** Whether a prompt that had waited was sent since the value was read. */
const hasMore = (own: SavedConversation, stored: SavedConversation | undefined): boolean => {
  const ids = new Set(stored?.exchanges.map(({ id }) => id));
  return stored !== undefined && own.exchanges.some(({ id }) => !ids.has(id));
};

/**
 * Keeps a conversation in a storage of the browser, for a reload of the page and for other tabs.
 *
 * <span class="informal">`localStorage.setItem` for each change, without overwriting other tabs.</span>
 *
 * A tab that was in the background knows an old state. It writes only its own changes: exchanges that it did not
 * change, and prompts that wait in another tab, stay as they are stored. Of two tabs that write in the same moment, a
 * browser keeps one value: the other tab notices it at the `storage` event, and writes its changes again. It does so
 * when it unsubscribes, too: unsubscribe before you create the conversation again (`savedElsewhere`).
 *
 * A storage that is full loses nothing else: it keeps the newest exchanges without the files of their messages, as far
 * as they fit, and everything again when there is room. A checkpoint stays as it is, or the run does not wait any more
 * after a reload. What a later release has stored, in another tab, is not overwritten.
 *
 * A value that was stored, and is there no more, was removed: by another tab at a logout, or by the browser. It is not
 * stored again.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat'), { saved: localStorage.getItem('chat') });
 * chat.view$.subscribe(render);
 * persist(chat, localStorage, 'chat', { onError: console.warn }).subscribe();
 * ```
 *
 * @param chat The conversation.
 * @param storage `localStorage`, or an object with its two methods.
 * @param key The key of the conversation.
 * @param options `onError` for a storage without room, and once for a value of a later release (default: ignored).
 * @returns An Observable of the values to store, also of one that could not be stored: the next change stores it,
 * too. It stores as long as it is subscribed. It completes when the value was removed, also if another one was begun
 * since: create an empty conversation then. It fails only if `getItem` throws: the browser forbids the storage.
 */
export function persist(
  chat: Conversation,
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  key: string,
  { onError }: { readonly onError?: ReportError | undefined } = {},
): Observable<SavedConversation> {
  return defer(() => {
    let isReported = false;
    const read = (): unknown => parseStored(storage.getItem(key));
    const savedIn = (value: unknown) => (isSavedConversation(value) ? value : undefined);
    const found = read();
    const first = savedIn(found);
    const own = takeWrites(storage, key, first);
    const isRemoved = (value: unknown): boolean => own.isRemovedFrom(value);
    const isOverwritten = (value: unknown): boolean => isSavedConversation(value) && own.isMissingIn(value);
    if (!isRemoved(found) && !isOverwritten(first)) own.begin(first, chat.save());
    const merge = (before: SavedConversation, after: SavedConversation) =>
      mergeSaved(before, own.commonWith(before), after);
    const write = (before: SavedConversation | undefined, merged: SavedConversation, after: SavedConversation) => {
      const numbered = own.number(merged);
      const kept = storeSaved(storage, key, numbered, onError, before);
      if (kept) own.begin(kept, after);
      else own.hold(after);
      return kept === before && !isUnstored(numbered) ? (before ?? numbered) : numbered;
    };
    return mergeStreams(
      chat.saved$.pipe(skip(hasMore(chat.save(), first) ? 0 : 1)), // the state at the start is stored
      storageChanges(key).pipe(
        map(read),
        filter((value) => isRemoved(value) || isOverwritten(value)),
        map(() => chat.save()),
      ),
    ).pipe(
      map((after) => [after, read()] as const),
      takeWhile(([, value]) => !isRemoved(value)),
      map(([after, value]) => {
        if (isOfLaterRelease(value)) {
          if (!isReported) onError?.(unreadableConversation(value));
          isReported = true;
          return after;
        }
        const before = savedIn(value);
        return write(before, before ? merge(before, after) : after, after);
      }),
      finalize(() => {
        try {
          const value = read();
          const before = savedIn(value);
          if (!before || isRemoved(value)) return;
          const after = chat.save();
          const merged = merge(before, after);
          const isLonger = merged.exchanges.length > before.exchanges.length;
          if (isOverwritten(before) || isLonger) write(before, merged, after);
        } catch (thrown) {
          reportRejection(onError?.(thrown));
        } finally {
          leaveWrites(storage, key, own);
        }
      }),
    );
  });
}
