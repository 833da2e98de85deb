import { concatMap, defer, EMPTY, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { tryParseJson } from '../core/json/json.js';
import type { Conversation } from './conversation.js';
import { isSavedConversation, mergeSaved } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { storeSaved } from './smallerSaved.js';
import type { ReportError } from './smallerSaved.js';

/**
 * Keeps a conversation in a storage of the browser, for a reload of the page and for other tabs.
 *
 * <span class="informal">`localStorage.setItem` for each change, without overwriting other tabs.</span>
 *
 * A tab that was in the background knows an old state. It writes only its own changes: exchanges that it did not
 * change, and prompts that wait in another tab, stay as they are stored.
 *
 * A storage that is full loses nothing else: it keeps the newest exchanges without their files, as far as they fit, and
 * everything again when there is room.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat'), { saved: localStorage.getItem('chat') });
 * chat.view$.subscribe(render);
 * persist(chat, localStorage, 'chat', { onError: (error) => console.warn(error) }).subscribe();
 * ```
 *
 * @param chat The conversation.
 * @param storage `localStorage`, or an object with its two methods.
 * @param key The key of the conversation.
 * @param options `onError`: called with what `setItem` throws. Default: nothing is called.
 * @returns An Observable of the conversation after each change, complete also if less of it is stored. It stores as
 * long as it is subscribed, and fails only with what `getItem` throws: the browser forbids the storage.
 */
export function persist(
  chat: Conversation,
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  key: string,
  { onError }: { readonly onError?: ReportError | undefined } = {},
): Observable<SavedConversation> {
  return defer(() => {
    let before: SavedConversation | undefined;
    /** What should be stored, and what is. They differ if the storage is full. */
    let complete: SavedConversation | undefined;
    let text: string | null = null;
    return chat.saved$.pipe(
      concatMap((after) => {
        const known = before;
        before = after;
        if (!known) return EMPTY; // the state at the start
        const found = storage.getItem(key);
        const stored = found === text && complete ? complete : tryParseJson(found ?? '');
        complete = isSavedConversation(stored) ? mergeSaved(stored, known, after) : after;
        text = storeSaved(storage, key, complete, onError) ?? found;
        return of(complete);
      }),
    );
  });
}
