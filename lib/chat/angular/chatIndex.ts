import { linkedSignal, untracked, type Signal } from '@angular/core';
import { isRecord, tryParseJson } from '../../core/json/json.js';
import type { ChatSummary } from '../../transport/chatSummary.js';
import type { ConversationStorage } from './pageStorage.js';
import type { injectSession } from './session.js';

export interface IndexState {
  readonly open?: string;
  readonly seen: Readonly<Record<string, number>>;
  readonly isListed?: boolean;
}

export interface ChatIndex {
  readonly state: Signal<IndexState>;
  see(id: string, updated?: number): void;
  /** In the first list of a browser, no chat is unread. */
  begin(chats: readonly ChatSummary[]): void;
  /** Removes what is stored, and ends the session. */
  clear(): void;
}

export function createChatIndex(
  storage: ConversationStorage,
  { key, source, end }: Omit<ReturnType<typeof injectSession>, 'guard'>,
  report: (thrown: unknown) => void,
): ChatIndex {
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
        report(thrown);
      }
    });
  return {
    state,
    see(id, updated) {
      const before = latest();
      write({ ...before, open: id, seen: { ...before.seen, [id]: updated ?? before.seen[id] ?? 0 } });
    },
    begin(chats) {
      const before = latest();
      if (before.isListed) return;
      const seen = Object.fromEntries(chats.map(({ id, updated }) => [id, updated]));
      write({ ...before, seen, isListed: true });
    },
    clear() {
      const name = untracked(key);
      if (name !== undefined) storage.removeItem(name);
      end();
    },
  };
}
