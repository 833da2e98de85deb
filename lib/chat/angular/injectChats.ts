import { computed, ErrorHandler, inject, linkedSignal, NgZone, PLATFORM_ID, untracked } from '@angular/core';
import type { Signal, WritableSignal } from '@angular/core';
import { takeUntilDestroyed, toObservable } from '@angular/core/rxjs-interop';
import { catchError, defer, EMPTY, endWith, expand, filter, finalize, fromEvent, map, merge, of, race } from 'rxjs';
import { reduce, retry, Subject, Subscription, switchMap, throwError, timer, type Observable } from 'rxjs';
import { HttpError } from '../../core/errors.js';
import { requireNumber } from '../../core/options.js';
import type { ChatSummary } from '../../transport/chatSummary.js';
import { isRetryable } from '../../transport/pageFetch.js';
import { randomId } from '../../transport/randomId.js';
import { chatCopies, type ChatCopies } from '../chatCopies.js';
import type { ExchangeView } from '../exchange.js';
import type { RemoteChats } from '../remoteChats.js';
import { readSaved, type SavedConversation } from '../savedConversation.js';
import { createChatIndex, type ChatIndex, type IndexState } from './chatIndex.js';
import { createInjected, type ChatHooks } from './injectConversation.js';
import type { InjectConversationOptions, InjectedConversation } from './injectConversation.js';
import { injectPageStorage } from './pageStorage.js';
import { injectUserKey } from './provideAgent.js';
import { readList } from './readList.js';
import { injectSession } from './session.js';

/** Options of `injectChats`. */
export interface InjectChatsOptions extends Omit<InjectConversationOptions, 'key' | 'saved'> {
  /** What `remoteChats` returns. */
  readonly chats: RemoteChats;
  /**
   * How often the list is read again, in milliseconds, for what other devices have changed. It is also read when the
   * page gets the focus, and after each change of this page. Default: 30000.
   */
  readonly refresh?: number | undefined;
}

/** A chat in the list. */
export interface ChatEntry extends Pick<ChatSummary, 'id' | 'title' | 'updated'> {
  readonly isShown: boolean;
  /** Whether another device has continued it since it was shown here. */
  readonly isUnread: boolean;
}

/** The chats of a user as signals, and what opens and changes them. */
export interface InjectedChats {
  /** The chats of all devices, latest change first. A new one is in the list from its first prompt on. */
  readonly entries: Signal<readonly ChatEntry[]>;
  /** The conversation that is shown. */
  readonly current: InjectedConversation;
  /** The id of the chat that is shown, and its title: empty for a new one. */
  readonly id: Signal<string>;
  readonly title: Signal<string>;
  /** The chats that this page has deleted, and the shown one if another device has: for "Undo". */
  readonly deleted: Signal<readonly Pick<ChatEntry, 'id' | 'title'>[]>;
  /** Why the last request for the chats has failed. Undefined after one that succeeds. */
  readonly error: Signal<unknown>;
  /**
   * Shows a chat, when it has been read. The next command ends this: another chat, a prompt in the shown one. Default:
   * a new one.
   */
  open(id?: string): void;
  rename(id: string, title: string): void;
  /** Deletes a chat on all devices, with its runs. */
  delete(id: string): void;
  /** Creates a chat of `deleted` again. */
  restore(id: string): void;
  /** Removes everything that this browser stores of the user, and shows an empty chat, in all tabs: for a logout. */
  clear(): void;
}

/**
 * Injects the chats of the user at a service: the list, live over all devices, and the conversation that is shown.
 *
 * <span class="informal">`injectConversation`, for a page with a list of chats.</span>
 *
 * The service is an `agentHandler` with the option `chats: keepChats(...)`. The browser has copies of the chats that it
 * has shown, so that they are there at once, in all tabs, and without a connection. With the `user` of `provideAgent`,
 * each user of the browser has its own.
 *
 * ```ts
 * class Chats {
 *   readonly chats = injectChats({ chats: remoteChats('/api/chat') });
 * }
 * // @for (chat of chats.entries(); track chat.id) { <button (click)="chats.open(chat.id)">{{ chat.title }}</button> }
 * // @for (exchange of chats.current.exchanges(); track exchange.id) { <app-exchange [exchange]="exchange" /> }
 * ```
 *
 * @param options `chats`, `refresh` in milliseconds (default: 30000), and the options of `injectConversation` except
 * `key` and `saved`.
 * @returns The signals and the commands.
 * @throws ConfigurationError `options` if there is no agent. Angular's error NG0203 outside of an injection context.
 */
export function injectChats({ chats: remote, refresh = 30_000, ...settings }: InjectChatsOptions): InjectedChats {
  requireNumber('refresh', refresh, 0);
  const userKey = injectUserKey();
  const errors = inject(ErrorHandler);
  const page = injectPageStorage(settings.storage);
  const { key, source, end, guard } = injectSession('chats');
  const chats: RemoteChats = {
    list: (cursor) => guard(remote, (own) => own.list(cursor)),
    open: (id) => guard(remote, (own) => own.open(id)),
    rename: (id, title) => guard(remote, (own) => own.rename(id, title)),
    delete: (id) => guard(remote, (own) => own.delete(id)),
    restore: (id, saved) => guard(remote, (own) => own.restore(id, saved)),
    keep: (chat, opened) => guard(remote, (own) => own.keep(chat, opened)),
  };
  const index = createChatIndex(page, { key, source, end });
  const keyOf = (id: string) => untracked(() => userKey(`chat ${id}`)) ?? '';
  const shown = linkedSignal({ source, computation: () => ({ id: untracked(index.state).open ?? randomId() }) });
  const list = linkedSignal<unknown, List>({ source, computation: () => ({ listed: [], deleted: [] }) });
  const stored = new Subject<readonly [key: string, saved: SavedConversation]>();
  const opening = linkedSignal<unknown, Opening>({ source, computation: () => ({ work: Subscription.EMPTY }) });
  const copies = chatCopies(chats, page.storage, keyOf);
  const shownId = () => untracked(shown).id;
  const hooks: ChatHooks = {
    copy: { getItem: () => copies.read(shownId()), removeItem: () => copies.remove(shownId()) },
    onStored: (...saved) => stored.next(saved),
    onCommand: () => {
      index.add(shownId());
      untracked(opening).work.unsubscribe();
    },
  };
  const current = createInjected({ ...settings, key: () => `chat ${shown().id}` }, hooks);
  const changesOf = (id: string) =>
    merge(
      stored.pipe(switchMap(([key, saved]) => (key === keyOf(id) ? [saved] : []))),
      fromEvent<StorageEvent>(globalThis, 'storage').pipe(filter(({ key }) => key === keyOf(id))), // of another tab
    );
  const entries = computed(() => entriesOf(shown().id, list(), current.exchanges()[0], index.state().seen));
  const state = { chats, copies, index, shown, opening, list, current, entries };
  const changed = new Subject<void>();
  const commands = createCommands(state, changed);
  if (inject(PLATFORM_ID) !== 'server') {
    const shown$ = toObservable(computed(() => (key() === undefined ? undefined : shown())));
    const work = merge(
      shown$.pipe(switchMap((chat) => (chat ? keepShown(chat.id, state, changesOf(chat.id), commands) : EMPTY))),
      merge(shown$, changed).pipe(followList(state, refresh, commands)),
    );
    const observer = {
      next: (hasChanged: boolean) => hasChanged && changed.next(),
      error: (thrown: unknown) => errors.handleError(thrown),
    };
    inject(NgZone).runOutsideAngular(() => work.pipe(takeUntilDestroyed()).subscribe(observer));
    index.onRemoved(() => commands.ofPerson.clear()); // another tab has called it
  }
  return {
    entries,
    current,
    id: computed(() => shown().id),
    title: computed(() => entries().find(({ isShown }) => isShown)?.title ?? ''),
    deleted: computed(() => list().deleted),
    error: computed(() => list().error),
    ...commands.ofPerson,
  };
}

interface List {
  readonly listed: readonly ChatSummary[];
  readonly deleted: readonly Pick<ChatEntry, 'id' | 'title'>[];
  readonly error?: unknown;
}

/** The chat that is shown when it has been read. The next command of the person ends this. */
interface Opening {
  readonly id?: string;
  readonly work: Subscription;
}

interface State extends Pick<InjectedChats, 'entries' | 'current'> {
  readonly chats: RemoteChats;
  readonly copies: ChatCopies;
  readonly index: ChatIndex;
  readonly shown: WritableSignal<{ readonly id: string }>;
  readonly opening: WritableSignal<Opening>;
  readonly list: WritableSignal<List>;
}

type Commands = ReturnType<typeof createCommands>;

function entriesOf(
  shown: string,
  { listed, deleted }: List,
  first: ExchangeView | undefined,
  seen: Readonly<Record<string, number>>,
): readonly ChatEntry[] {
  const isNew = first !== undefined && ![...listed, ...deleted].some(({ id }) => id === shown);
  const parts = first?.messages[0]?.parts ?? [];
  const title = parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  return [...(isNew ? [{ id: shown, title, updated: 0 }] : []), ...listed].map(({ id, title: name, updated }) => {
    const isShown = id === shown;
    return { id, title: name, updated, isShown, isUnread: !isShown && updated > (seen[id] ?? 0) };
  });
}

function createCommands(state: State, changed: Subject<void>) {
  const { chats, copies, index, shown, opening, list, current, entries } = state;
  const undo = new Map<string, SavedConversation>();
  const update = (change: Partial<List>) => list.update((before) => ({ ...before, ...change }));
  const fail = (error: unknown) => update({ error });
  const act = <T>(work: Observable<T>, next: (value: T) => void) => void work.subscribe({ next, error: fail });
  const find = (id: string) => untracked(list).listed.find((chat) => chat.id === id);
  const show = (id: string) => {
    index.see(id, find(id)?.updated);
    shown.set({ id });
  };
  const stay = (): void => untracked(opening).work.unsubscribe();
  const open = (id: string): void => {
    stay();
    index.add(id);
    const chat = find(id);
    if (!chat || !copies.isOld(chat)) show(id);
    else opening.set({ id, work: copies.fetch(id).subscribe({ next: () => show(id), error: fail }) });
  };
  const remember = (id: string, saved: SavedConversation): void => {
    if (untracked(list).deleted.some((chat) => chat.id === id)) return;
    const title = untracked(entries).find((entry) => entry.id === id)?.title ?? '';
    undo.set(id, saved);
    const { listed, deleted } = untracked(list);
    update({ listed: listed.filter((chat) => chat.id !== id), deleted: [{ id, title }, ...deleted] });
  };
  return {
    open,
    update,
    fail,
    lose: (id: string) => remember(id, readSaved(copies.read(id))),
    ofPerson: {
      open: (id: string = randomId()) => open(id),
      rename: (id: string, title: string) => act(chats.rename(id, title), () => changed.next()),
      delete(id: string): void {
        if (untracked(opening).id === id) stay();
        const { savedError, ...copy } = readSaved(copies.read(id) ?? '');
        const saved$ = savedError ? chats.open(id).pipe(map(({ saved }) => saved)) : of(copy);
        act(saved$.pipe(switchMap((saved) => chats.delete(id).pipe(endWith(saved)))), (saved) => {
          remember(id, saved);
          if (id === untracked(shown).id) show(randomId());
          copies.remove(id);
        });
      },
      restore(id: string): void {
        const saved = undo.get(id);
        if (!saved || !untracked(list).deleted.some((chat) => chat.id === id)) return;
        stay();
        index.add(id);
        const work = new Subscription();
        opening.set({ id, work });
        const restored$ = chats.restore(id, saved).pipe(switchMap(() => copies.fetch(id)));
        act(restored$.pipe(finalize(() => work.unsubscribe())), () => {
          update({ deleted: untracked(list).deleted.filter((chat) => chat.id !== id) });
          changed.next();
          if (!work.closed) show(id);
        });
      },
      clear(): void {
        stay();
        current.clear();
        for (const id of index.known()) copies.remove(id);
        index.clear();
        undo.clear();
      },
    },
  };
}

/** Milliseconds before a chat is written again, unless the page is online. */
const RETRY_DELAY = 10_000;

function keepShown(id: string, { copies, index }: State, changes: Observable<unknown>, { lose, fail }: Commands) {
  const delay = (thrown: unknown) =>
    isRetryable(thrown) ? race(timer(RETRY_DELAY), fromEvent(globalThis, 'online')) : throwError(() => thrown);
  return copies.keep(id, changes).pipe(
    retry({ delay }),
    map(({ updated }) => {
      index.see(id, updated);
      return true;
    }),
    catchError((thrown: unknown) => {
      if (thrown instanceof HttpError && thrown.status === 404) lose(id);
      else fail(thrown);
      return of(true);
    }),
  );
}

const followList =
  ({ chats, copies, index, shown, opening, current }: State, refresh: number, { open, update, fail, lose }: Commands) =>
  (changes: Observable<unknown>): Observable<false> => {
    const all$ = chats.list().pipe(
      expand(({ next }) => (next === undefined ? EMPTY : chats.list(next))),
      reduce((listed: readonly ChatSummary[], page) => [...listed, ...page.chats], []),
    );
    /** What the service had before the list was read is in it, or was deleted. */
    const accept = (listed: readonly ChatSummary[], { seen }: IndexState): void => {
      index.begin(listed);
      update({ listed, error: undefined });
      const { id } = untracked(shown);
      const chat = listed.find((other) => other.id === id);
      if (!chat && seen[id]) lose(id);
      const isOld = chat && copies.read(id) !== null && copies.isOld(chat);
      if (isOld && !untracked(current.isBusy) && untracked(opening).work.closed) open(id);
    };
    const read$ = defer(() => {
      const before = untracked(index.state);
      return all$.pipe(
        map((listed) => accept(listed, before)),
        catchError((thrown: unknown) => {
          fail(thrown);
          return EMPTY;
        }),
      );
    });
    return readList(refresh, read$)(changes).pipe(map(() => false as const));
  };
