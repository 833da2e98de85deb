import { map, pairwise, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { tryParseJson } from '../core/json/json.js';
import type { Conversation } from './conversation.js';
import { marksOf, mergeSaved } from './mergeSaved.js';
import { isSavedConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';

/**
 * Keeps a conversation in a storage of the browser, for a reload of the page and for other tabs.
 *
 * <span class="informal">`localStorage.setItem` for each change, without overwriting other tabs.</span>
 *
 * A tab that was in the background knows an old state. It writes only its own changes: exchanges that it did not
 * change, and prompts that wait in another tab, stay as they are stored.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat'), { saved: localStorage.getItem('chat') });
 * chat.view$.subscribe(render);
 * persist(chat, localStorage, 'chat').subscribe({ error: (error) => console.warn(error) });
 * ```
 *
 * @param chat The conversation.
 * @param storage `localStorage`, or an object with its two methods.
 * @param key The key of the conversation.
 * @returns An Observable of the stored values. It stores as long as it is subscribed, and fails with what `setItem`
 * throws, for example because the storage is full.
 */
export function persist(
  chat: Conversation,
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  key: string,
): Observable<SavedConversation> {
  return chat.saved$.pipe(
    pairwise(), // the first one is the state at the start
    map(([before, after]) => {
      const stored = tryParseJson(storage.getItem(key) ?? '');
      return isSavedConversation(stored) ? mergeSaved(stored, marksOf(before), after) : after;
    }),
    tap((merged) => storage.setItem(key, JSON.stringify(merged))),
  );
}
