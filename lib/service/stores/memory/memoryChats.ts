import { defer, of } from 'rxjs';
import type { ChatRecord, ChatStore } from '../../chats/chatStore.js';
import { createMemoryTable } from './memoryTable.js';
import type { MemoryOptions } from './memoryTable.js';

/** How many chats a page of a list has. */
const PAGE_SIZE = 100;

/**
 * Creates a store of chats in memory. It is lost when the process ends, and other processes do not see it.
 *
 * When it is full, it removes the chats of the owner that uses most of it, oldest change first. An owner that uses less
 * than its share (`maxBytes` divided by the number of owners) loses nothing.
 *
 * @param options `maxBytes` (default: 64 MiB), `maxAge` in milliseconds (default: 24 hours).
 */
export function memoryChats(options: MemoryOptions = {}): ChatStore {
  const table = createMemoryTable<ChatRecord>(options, { isInUse: () => false, isNeeded: () => false });
  return {
    get: (id) =>
      defer(() => {
        const entry = table.get(id);
        return of(entry && { record: entry.record, version: entry.version });
      }),
    put: (record, version) => defer(() => of(table.put(record, version))),
    delete: (id, version) => defer(() => of(table.delete(id, version))),
    list: (owner, cursor) =>
      defer(() => {
        const chats = table
          .ofOwner(owner)
          .map(({ record: { id, title, updated }, version }) => ({ id, title, updated, version }))
          .sort((a, b) => b.updated - a.updated || (a.id < b.id ? -1 : 1));
        const start = cursor === undefined ? 0 : chats.findIndex((chat) => isAfter(chat, cursor));
        const page = start < 0 ? [] : chats.slice(start, start + PAGE_SIZE);
        const last = page.at(-1);
        return of({ chats: page, ...(last && last !== chats.at(-1) ? { next: `${last.updated}:${last.id}` } : {}) });
      }),
  };
}

/** Whether a chat comes after a cursor: the time and the id of the last chat of a page. */
function isAfter(chat: { readonly id: string; readonly updated: number }, cursor: string): boolean {
  const [time = '', ...rest] = cursor.split(':');
  const updated = Number(time);
  return chat.updated < updated || (chat.updated === updated && chat.id > rest.join(':'));
}
