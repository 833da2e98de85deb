import { randomId } from '../transport/randomId.js';
import type { Marks } from './mergeSaved.js';
import type { SavedConversation, Writes } from './savedConversation.js';

/** The tabs that a value names, those that wrote last. */
const MAX_TABS = 32;

/** The states of a tab with which another tab may have begun its write. */
const MAX_STATES = 16;

/**
 * The writes of one tab under one key. Of two tabs that write in the same moment, a browser keeps one value. So each
 * value names the writes that it includes, and a tab whose write is missing writes again.
 */
export class OwnWrites {
  private readonly tab = randomId();
  private of: string | undefined;
  private last = 0;
  private highest = 0;
  /** What the tab had in common with the storage, and the writes that were in it, the newest last. */
  private readonly common: { readonly tabs: Writes['tabs']; readonly marks: Marks }[] = [];

  /** A value that is stored has all that the tab has. */
  begin(value: SavedConversation | undefined, marks: Marks): void {
    const { of, tabs = {} } = value?.writes ?? {};
    this.of = of;
    this.last = tabs[this.tab] ?? 0;
    this.common.push({ tabs, marks });
    if (this.common.length > MAX_STATES) this.common.shift();
  }

  /** Whether a value is the one that the tab knows. After it was removed, the next one has another id. */
  isOf({ writes }: SavedConversation): boolean {
    return writes !== undefined && writes.of === this.of;
  }

  isMissingIn(value: SavedConversation): boolean {
    return this.isOf(value) && (value.writes?.tabs[this.tab] ?? 0) !== this.last;
  }

  /** What the tab and a value had in common: the newest state whose writes are all in the value. */
  commonWith(value: SavedConversation): Marks {
    const { common } = this;
    const { tabs = {} } = value.writes ?? {};
    const isIn = ([tab, number]: readonly [string, number]) => (tabs[tab] ?? 0) >= number;
    const newest = common.findLast((state) => !this.isOf(value) || Object.entries(state.tabs).every(isIn));
    return (newest ?? common[0])?.marks ?? {};
  }

  /** Numbers a value that is to be written. */
  number(saved: SavedConversation): SavedConversation {
    const { of = randomId(), tabs = {} } = saved.writes ?? {};
    const others = Object.entries(tabs).filter(([tab]) => tab !== this.tab);
    const own = [this.tab, (this.highest += 1)] as const;
    return { ...saved, writes: { of, tabs: Object.fromEntries([...others.slice(1 - MAX_TABS), own]) } };
  }
}

/** Those of conversations that were closed, for the next one with the same key. */
const left = /* @__PURE__ */ new WeakMap<object, Map<string, OwnWrites>>();

export function takeWrites(storage: object, key: string, value: SavedConversation | undefined): OwnWrites {
  const known = left.get(storage)?.get(key);
  left.get(storage)?.delete(key);
  return known && value && known.isOf(value) ? known : new OwnWrites();
}

export function leaveWrites(storage: object, key: string, writes: OwnWrites): void {
  left.set(storage, (left.get(storage) ?? new Map<string, OwnWrites>()).set(key, writes));
}
