import { defer, filter, finalize, map, merge as mergeStreams, skip, type Observable } from 'rxjs';
import { tryParseJson } from '../core/json/json.js';
import type { Conversation } from './conversation.js';
import { marksOf, mergeSaved } from './mergeSaved.js';
import { leaveWrites, takeWrites } from './ownWrites.js';
import { storageChanges } from './savedElsewhere.js';
import { isOfLaterRelease, isSavedConversation, unreadableConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { storeSaved, type ReportError } from './smallerSaved.js';
import { reportRejection } from '../core/reportUnhandled.js';

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
 * too. It stores as long as it is subscribed, and fails only if `getItem` throws: the browser forbids the storage.
 */
export function persist(
  chat: Conversation,
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  key: string,
  { onError }: { readonly onError?: ReportError | undefined } = {},
): Observable<SavedConversation> {
  return defer(() => {
    const own = takeWrites(storage, key);
    let isReported = false;
    const stored = (): unknown => tryParseJson(storage.getItem(key) ?? '');
    const isOverwritten = (value: unknown) => isSavedConversation(value) && own.isMissingIn(value);
    if (!isOverwritten(stored())) own.begin(marksOf(chat.save()));
    const merge = (before: SavedConversation, after: SavedConversation) =>
      mergeSaved(before, own.commonWith(before), after);
    const write = (merged: SavedConversation, after: SavedConversation): SavedConversation => {
      const numbered = own.number(merged);
      if (storeSaved(storage, key, numbered, onError)) own.written(marksOf(after));
      return numbered;
    };
    return mergeStreams(
      chat.saved$.pipe(skip(1)), // the state at the start
      storageChanges(key).pipe(
        filter(() => isOverwritten(stored())),
        map(() => chat.save()),
      ),
    ).pipe(
      map((after) => {
        const before = stored();
        if (isOfLaterRelease(before)) {
          if (!isReported) onError?.(unreadableConversation(before));
          isReported = true;
          return after;
        }
        return write(isSavedConversation(before) ? merge(before, after) : after, after);
      }),
      finalize(() => {
        try {
          const before = stored();
          if (!isSavedConversation(before)) return; // another tab may have removed it
          const after = chat.save();
          const merged = merge(before, after);
          if (isOverwritten(before) || merged.exchanges.length > before.exchanges.length) write(merged, after);
        } catch (thrown) {
          reportRejection(onError?.(thrown));
        } finally {
          leaveWrites(storage, key, own);
        }
      }),
    );
  });
}
