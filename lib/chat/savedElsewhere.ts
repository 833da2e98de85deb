import { asapScheduler, defer, EMPTY, filter, fromEvent, map, observeOn, of, switchMap, take } from 'rxjs';
import type { Observable } from 'rxjs';
import { callsOf } from '../operators/view/view.js';
import type { Conversation } from './conversation.js';
import { isRemoved, withHeld } from './ownWrites.js';
import type { PageTools } from './pageTools.js';
import type { SavedConversation } from './savedConversation.js';
import { isForPage } from './waitingRuns.js';

/**
 * Emits what to create a conversation again from, when another tab has stored it.
 *
 * <span class="informal">The `storage` event, at a moment at which nothing is lost.</span>
 *
 * A call of `pageTools` that this tab executes would be aborted, and executed again by the other tab: the value comes
 * after its end, but null at once: another tab has removed the value, as at a logout. What `persist` had no room for in
 * this storage is in the value.
 *
 * ```ts
 * const newer$ = savedElsewhere(chat, localStorage, 'chat');
 * newer$.pipe(take(1)).subscribe((saved) => showAgain(conversation(agent, { saved })));
 * ```
 *
 * @param chat The conversation that is shown.
 * @param storage `localStorage`, or an object with `getItem`.
 * @param key The key of the conversation, as for `persist`.
 * @param options `tools`, as for the conversation (default: none).
 * @returns An Observable of the option `saved` of `conversation`: null if another tab has removed the value. It never
 * completes in a page, and is empty in another runtime. It fails if `getItem` throws.
 */
export function savedElsewhere(
  chat: Conversation,
  storage: Pick<Storage, 'getItem'>,
  key: string,
  { tools }: { readonly tools?: PageTools | undefined } = {},
): Observable<SavedConversation | string | null> {
  return storageChanges(key).pipe(
    observeOn(asapScheduler), // after `persist` has written again what was overwritten
    switchMap(() => (isRemoved(storage, key, storage.getItem(key)) ? of(undefined) : pageCallsEnded(chat, tools))),
    map(() => withHeld(storage, key, storage.getItem(key))),
  );
}

/** Emits when another tab has changed a value of the storage. */
export const storageChanges = (key: string): Observable<unknown> =>
  typeof addEventListener === 'undefined'
    ? EMPTY
    : fromEvent<StorageEvent>(globalThis, 'storage').pipe(filter((event) => [key, null].includes(event.key)));

/** Emits when no call of the page is executed, now or after all that stores its result. */
export const pageCallsEnded = (chat: Conversation, tools: PageTools | undefined): Observable<unknown> =>
  defer(() => {
    if (!executes(chat, tools)) return of(undefined);
    const ended = chat.view$.pipe(filter(() => !executes(chat, tools)));
    return ended.pipe(take(1), observeOn(asapScheduler));
  });

const executes = (chat: Conversation, tools: PageTools | undefined): boolean =>
  tools !== undefined &&
  chat
    .save()
    .exchanges.some(({ view }) => callsOf(view).some((call) => call.status === 'running' && isForPage(call, tools)));
