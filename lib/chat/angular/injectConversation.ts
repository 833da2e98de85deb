import {
  computed,
  DestroyRef,
  effect,
  ErrorHandler,
  inject,
  NgZone,
  PLATFORM_ID,
  signal,
  untracked,
} from '@angular/core';
import type { Signal } from '@angular/core';
import { toObservable } from '@angular/core/rxjs-interop';
import { identity, noop, Subscription, switchMap } from 'rxjs';
import type { ConversationAgent } from '../conversationAgent.js';
import { conversation } from '../conversation.js';
import { isSameList } from '../../core/lists.js';
import type { Conversation, ConversationOptions, ConversationView } from '../conversation.js';
import type { ExchangeView } from '../exchange.js';
import { withHeld } from '../ownWrites.js';
import { persist } from '../persist.js';
import type { SavedConversation } from '../savedConversation.js';
import { pageCallsEnded } from '../savedElsewhere.js';
import type { ToolCallView, ViewStatus } from '../../operators/view/view.js';
import type { Input } from '../../core/input.js';
import { whileCurrent } from '../../transport/pageFetch.js';
import { isBusy } from './busy.js';
import { injectPageStorage, type ConversationStorage } from './pageStorage.js';
import { perFrame } from './perFrame.js';
import { injectAgent, injectUserKey } from './provideAgent.js';

/** Options of `injectConversation`. */
export interface InjectConversationOptions extends ConversationOptions {
  /** The agent. Default: the one of `provideAgent`. */
  readonly agent?: ConversationAgent | undefined;
  /**
   * The name under which the page stores the conversation, or a signal of it, such as an input of the component. With
   * the `user` of `provideAgent`, each user has a conversation of that name. The conversation is then the same after a
   * reload and, with a `remoteAgent`, in all tabs; `saved` is not used. Another value of the signal shows another
   * conversation. Default: the conversation is not stored.
   */
  readonly key?: string | (() => string) | undefined;
  /** Where the conversation is stored under its `key`. Default: `localStorage`. */
  readonly storage?: ConversationStorage | undefined;
  /** Whether the view changes at most once per animation frame. False: with each event, for tests. Default: true. */
  readonly perFrame?: boolean | undefined;
}

/** A conversation as signals, and its commands. */
export interface InjectedConversation extends Omit<Conversation, 'view' | 'view$'> {
  /** Removes what is stored under the key, for a logout. All tabs show an empty conversation, not `saved`. */
  clear(): void;
  /** The view. What did not change keeps its identity. */
  readonly view: Signal<ConversationView>;
  /** The prompts with their answers, oldest first. */
  readonly exchanges: Signal<readonly ExchangeView[]>;
  /** The status of the last exchange; `idle` if there is none. */
  readonly status: Signal<ViewStatus>;
  /** Whether an answer is on its way. */
  readonly isBusy: Signal<boolean>;
  /** The calls and questions that wait for `decide`, `answer` or `decline`, those of sub-agents included. */
  readonly waiting: Signal<readonly ToolCallView[]>;
  /** The prompts that wait for the end of the run. */
  readonly queued: Signal<readonly Input[]>;
  /** What the storage has thrown: it has less than the conversation, or nothing. Undefined if it works. */
  readonly storageError: Signal<unknown>;
}

/**
 * Creates a conversation with the provided agent, as signals.
 *
 * <span class="informal">`conversation`, for a component or a service of Angular.</span>
 *
 * The conversation ends with the component or the service that has injected it: a local run is aborted, and one at a
 * server is left. On the server (SSR) it shows its saved state or nothing, and its commands do nothing: no run starts.
 * It works without zone.js and with it.
 *
 * ```ts
 * class Chat {
 *   readonly chat = injectConversation({ key: 'chat' });
 * }
 * // @for (exchange of chat.exchanges(); track exchange.id) { <app-exchange [exchange]="exchange" /> }
 * // <button (click)="chat.send(text.value)" [disabled]="chat.isBusy()">Send</button>
 * ```
 *
 * @param options `key` (default: not stored), `storage` (default: `localStorage`), `agent` (default: the provided one),
 * `perFrame` (default: true), and the options of `conversation`: `whenBusy`, `saved`, `tools`, `context`.
 * @returns The signals and the commands. A command for a `key` that is an input needs the input to be set.
 * @throws ConfigurationError `options` if there is no agent. Angular's error NG0203 outside of an injection context.
 */
export function injectConversation(options: InjectConversationOptions = {}): InjectedConversation {
  return createInjected(options);
}

/** Makes a function of the component of one of a conversation. */
type Command = <A extends readonly unknown[]>(
  act: (chat: Conversation, ...values: A) => void,
) => (...values: A) => void;

const commandOn =
  (zone: NgZone, connect: () => Conversation | undefined, onCommand: () => void): Command =>
  (act) =>
  (...values) =>
    zone.runOutsideAngular(() =>
      untracked(() => {
        const chat = connect();
        if (!chat) return;
        onCommand();
        act(chat, ...values);
      }),
    );

const commandsOf = (command: Command) =>
  ({
    send: command((chat, input) => chat.send(input)),
    stop: command((chat) => chat.stop()),
    reconnect: command((chat) => chat.reconnect()),
    regenerate: command((chat, exchange) => chat.regenerate(exchange)),
    edit: command((chat, exchange, input) => chat.edit(exchange, input)),
    select: command((chat, exchange) => chat.select(exchange)),
    decide: command((chat, callId, decision) => chat.decide(callId, decision)),
    answer: command((chat, callId, result) => chat.answer(callId, result)),
    decline: command((chat, callId, reason) => chat.decline(callId, reason)),
    cancel: command((chat, callId) => chat.cancel(callId)),
  }) satisfies Partial<InjectedConversation>;

/** What `injectChats` has to do with its conversation. */
export interface ChatHooks {
  /** The copy of the chat that is shown, instead of the value under the key. */
  readonly copy?: Pick<ConversationStorage, 'getItem' | 'removeItem'>;
  /** Called with the key and the value of each change that is to be stored. */
  readonly onStored?: (key: string, saved: SavedConversation) => void;
  readonly onCommand?: () => void;
}

export function createInjected(
  options: InjectConversationOptions,
  { copy, onStored = noop, onCommand = noop }: ChatHooks = {},
): InjectedConversation {
  const { agent = injectAgent(), key, storage: chosen, perFrame: isPerFrame = true, ...settings } = options;
  const isServer = inject(PLATFORM_ID) === 'server';
  const errors = inject(ErrorHandler);
  const zone = inject(NgZone);
  const store = key === undefined || isServer ? undefined : injectPageStorage(chosen);
  const stored = copy ?? store?.storage;
  const userKey = injectUserKey();
  const currentKey = () => userKey(typeof key === 'function' ? key() : key);
  let given = store ? undefined : settings.saved; // of the first user, until `clear`
  const revision = signal(0);
  const readAgain = () => {
    subscription.unsubscribe(); // before the new value is read, `persist` adds what another tab has overwritten
    revision.update((count) => count + 1);
  };
  const current = computed(() => {
    revision();
    const name = currentKey();
    const saved = store && name !== undefined ? withHeld(store.storage, name, stored?.getItem(name)) : given;
    given = undefined;
    const ownAgent = whileCurrent(agent, () => untracked(currentKey) === name); // also before the effect has run
    return untracked(() => ({ name, chat: conversation(ownAgent, { ...settings, saved }) }));
  });
  const latest = signal<LatestView | undefined>(undefined);
  let connected: Conversation | undefined;
  let subscription = Subscription.EMPTY;
  let isDestroyed = isServer; // a server has no run

  /** Outside of the zone, by an effect or the first command: with zone.js, each read of the network would be a tick. */
  function connect(): Conversation | undefined {
    const { name, chat } = current();
    if (isDestroyed) return undefined;
    if (chat === connected) return chat;
    subscription.unsubscribe();
    connected = chat;
    subscription = chat.view$.pipe(isPerFrame ? perFrame() : identity).subscribe({
      next: (view) => latest.set({ of: chat, view }),
      error: (thrown: unknown) => zone.run(() => errors.handleError(thrown)),
    });
    if (store && name !== undefined) {
      const stored$ = persist(chat, store.storage, name, { onError: store.fail });
      const next = (saved: SavedConversation) => onStored(name, saved);
      subscription.add(stored$.subscribe({ next, error: store.fail, complete: readAgain })); // it was removed: a logout
    }
    return chat;
  }

  const command = commandOn(zone, connect, onCommand);
  if (!isServer)
    effect(() => {
      current();
      zone.runOutsideAngular(() => untracked(connect));
    });
  // A run of a local agent ends with its tab: what other tabs store must not abort it.
  const onChange = (changed: string | null): void => {
    if (![null, untracked(currentKey)].includes(changed)) return;
    const ended = pageCallsEnded(untracked(current).chat, settings.tools);
    subscription.add(ended.subscribe({ next: readAgain, error: noop })); // until the chat is left
  };
  if (agent.join) store?.onChange(onChange);
  inject(DestroyRef).onDestroy(() => {
    isDestroyed = true;
    subscription.unsubscribe();
  });

  return {
    ...signalsOf(computed(() => shownView(current().chat, latest()))),
    storageError: computed(() => store?.error()),
    ...commandsOf(command),
    clear() {
      if (store) stored?.removeItem(untracked(currentKey) ?? '');
      readAgain();
    },
    save: () => untracked(current).chat.save(),
    saved$: toObservable(current).pipe(switchMap(({ chat }) => chat.saved$)),
  };
}

interface LatestView {
  readonly of: Conversation;
  readonly view: ConversationView;
}

const shownView = (chat: Conversation, latest: LatestView | undefined): ConversationView =>
  latest?.of === chat ? latest.view : chat.view;

const signalsOf = (view: Signal<ConversationView>) => ({
  view,
  exchanges: computed(() => view().exchanges, { equal: isSameList }),
  status: computed(() => view().status),
  isBusy: computed(() => isBusy(view().status)),
  waiting: computed(() => view().waiting, { equal: isSameList }),
  queued: computed(() => view().queued, { equal: isSameList }),
});
