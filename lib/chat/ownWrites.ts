import { isRecord } from '../core/json/json.js';
import { randomId } from '../transport/randomId.js';
import type { Marks } from './mergeSaved.js';
import type { SavedConversation } from './savedConversation.js';

/** The tabs that a value names, those that wrote last. */
const MAX_TABS = 32;

/** The writes of a tab that another tab may have read last. */
const MAX_WRITES = 16;

/**
 * The writes of one tab under one key. Of two tabs that write in the same moment, a browser keeps one value. So each
 * value names the writes that it includes, and a tab whose write is missing writes again.
 */
export class OwnWrites {
  private readonly tab = randomId();
  private count = 0;
  /** What the tab had in common with the storage, by the number of its last write. */
  private readonly common = new Map<number, Marks>();

  /** The conversation has been read from a value. */
  begin(marks: Marks): void {
    this.common.set(this.count, marks);
  }

  isMissingIn({ writes }: SavedConversation): boolean {
    return isRecord(writes) && (writes[this.tab] ?? 0) !== this.count;
  }

  /** What the tab and a value had in common. A value without numbers is of an earlier release. */
  commonWith({ writes }: SavedConversation): Marks {
    const last = isRecord(writes) ? (writes[this.tab] ?? 0) : this.count;
    const [oldest = {}] = this.common.values();
    return this.common.get(last) ?? oldest;
  }

  /** Numbers a value that is to be written. */
  number(saved: SavedConversation): SavedConversation {
    const others = Object.entries({ ...saved.writes }).filter(([tab]) => tab !== this.tab);
    return { ...saved, writes: Object.fromEntries([...others.slice(1 - MAX_TABS), [this.tab, this.count + 1]]) };
  }

  written(marks: Marks): void {
    this.count += 1;
    this.common.set(this.count, marks);
    this.common.delete(this.count - MAX_WRITES);
  }
}

/** Those of conversations that were closed, for the next one with the same key. */
const left = /* @__PURE__ */ new WeakMap<object, Map<string, OwnWrites>>();

export function takeWrites(storage: object, key: string): OwnWrites {
  const writes = left.get(storage)?.get(key) ?? new OwnWrites();
  left.get(storage)?.delete(key);
  return writes;
}

export function leaveWrites(storage: object, key: string, writes: OwnWrites): void {
  left.set(storage, (left.get(storage) ?? new Map<string, OwnWrites>()).set(key, writes));
}
