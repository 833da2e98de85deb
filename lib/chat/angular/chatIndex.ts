import { linkedSignal, untracked, type Signal } from '@angular/core';
import { isRecord, tryParseJson } from '../../core/json/json.js';
import type { ChatSummary } from '../../transport/chatSummary.js';
import type { PageStorage } from './pageStorage.js';
import type { injectSession } from './session.js';

export interface IndexState {
  readonly open?: string;
  readonly seen: Readonly<Record<string, number>>;
  readonly isListed?: boolean;
}

export interface ChatIndex {
  readonly state: Signal<IndexState>;
  /** All chats of which the browser may have a copy. */
  known(): readonly string[];
  /** Called before a copy is stored: `clear` of another page removes it, too. */
  add(id: string): void;
  see(id: string, updated?: number): void;
  /** In the first list of a browser, no chat is unread. */
  begin(chats: readonly ChatSummary[]): void;
  /** Another tab has called `clear`. */
  onRemoved(act: () => void): void;
  /** Removes what is stored, and ends the session. */
  clear(): void;
}

export function createChatIndex(
  page: PageStorage,
  { key, source, end }: Omit<ReturnType<typeof injectSession>, 'guard'>,
): ChatIndex {
  const { storage, fail } = page;
  const read = (): IndexState => {
    const name = key();
    const stored = name === undefined ? undefined : tryParseJson(storage.getItem(name) ?? '');
    return isRecord(stored) && isRecord(stored['seen']) ? (stored as unknown as IndexState) : { seen: {} };
  };
  const state = linkedSignal({ source, computation: read });
  let isStored = true;
  /** Other tabs write it, too. If there was no room, only this page has it. */
  const latest = () => untracked(isStored ? read : state);
  const write = (change: IndexState): void =>
    untracked(() => {
      state.set(change);
      const name = key();
      try {
        if (name !== undefined) storage.setItem(name, JSON.stringify(change));
        isStored = true;
      } catch (thrown) {
        isStored = false;
        fail(thrown);
      }
    });
  return {
    state,
    known: () => untracked(() => Object.keys({ ...read().seen, ...state().seen })),
    add(id) {
      const before = latest();
      if (before.seen[id] === undefined) write({ open: id, ...before, seen: { ...before.seen, [id]: 0 } });
    },
    see(id, updated) {
      const before = latest();
      write({ ...before, open: id, seen: { ...before.seen, [id]: updated ?? before.seen[id] ?? 0 } });
    },
    begin(chats) {
      const before = latest();
      if (before.isListed) return;
      const seen = { ...before.seen, ...Object.fromEntries(chats.map(({ id, updated }) => [id, updated])) };
      write({ ...before, seen, isListed: true });
    },
    onRemoved: (act) =>
      page.onChange((changed) => {
        const name = untracked(key);
        if (name !== undefined && [null, name].includes(changed) && storage.getItem(name) === null) act();
      }),
    clear() {
      const name = untracked(key);
      if (name !== undefined) storage.removeItem(name);
      end();
    },
  };
}
