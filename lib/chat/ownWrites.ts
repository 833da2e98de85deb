import { asyncScheduler } from 'rxjs';
import { tryParseJson } from '../core/json/json.js';
import { randomId } from '../transport/randomId.js';
import { isReduced, marksWithin, mergeSaved, type Marks } from './mergeSaved.js';
import { isSavedConversation, type SavedConversation, type Writes } from './savedConversation.js';

/** The tabs that a value names, those that wrote last. */
const MAX_TABS = 32;

/** The states of a tab with which another tab may have begun its write. */
const MAX_STATES = 16;

/** In this time, in milliseconds, several tabs may have begun a value under one key, each without the others'. */
const MOMENT = 10_000;

/**
 * The writes of one tab under one key. Of two tabs that write in the same moment, a browser keeps one value. So each
 * value names the writes that it includes, and a tab whose write is missing writes again.
 */
export class OwnWrites {
  private readonly tab = randomId();
  private of: string | undefined;
  /** When the tab has first read or written this value. */
  private since = 0;
  private last = 0;
  private highest = 0;
  /** Whether there was a value, and whether it was removed since. */
  private isKnown = false;
  private isRemoved = false;
  /** What the tab has, if the storage lacks some of it: it had no room. */
  private held: SavedConversation | undefined;
  /** What the tab had in common with the storage, and the writes that were in it, the newest last. */
  private readonly common: { readonly tabs: Writes['tabs']; readonly marks: Marks }[] = [];

  /** The tab has read or written a value. They have in common what is in both. */
  begin(value: SavedConversation | undefined, own: SavedConversation): void {
    const { of, tabs = {} } = value?.writes ?? {};
    if (of !== this.of) this.since = asyncScheduler.now();
    this.of = of;
    this.last = tabs[this.tab] ?? 0;
    this.isKnown ||= value !== undefined;
    const ids = new Set(value && idsOf(value));
    this.common.push({ tabs, marks: marksWithin(own, ids) });
    if (this.common.length > MAX_STATES) this.common.shift();
    const isWhole = !value?.exchanges.some(isReduced) && idsOf(own).every((id) => ids.has(id));
    this.hold(isWhole ? undefined : own);
  }

  hold(held: SavedConversation | undefined): void {
    this.held = held;
  }

  /** A value, with what the storage has no room for. */
  withHeld(value: SavedConversation): SavedConversation | undefined {
    return this.held && !this.isRemovedFrom(value) ? mergeSaved(value, this.commonWith(value), this.held) : undefined;
  }

  /**
   * Whether the value that the tab knows was removed, as at a logout: there is none, or one that was not begun in the
   * same moment. Called with all that is read; undefined if there is nothing.
   */
  isRemovedFrom(value: unknown): boolean {
    const isOther = isSavedConversation(value) && value.writes !== undefined && this.of !== undefined;
    const isLater = isOther && !this.isOf(value) && asyncScheduler.now() - this.since > MOMENT;
    this.isRemoved ||= isLater || (this.isKnown && value === undefined);
    this.isKnown ||= value !== undefined;
    return this.isRemoved;
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

const idsOf = ({ exchanges, queued = [] }: SavedConversation): readonly string[] =>
  [...exchanges, ...queued].map(({ id }) => id);

/** Those of the last conversation with a key. After it was closed, the next one continues with them. */
const known = /* @__PURE__ */ new WeakMap<object, Map<string, { readonly own: OwnWrites; readonly isLeft: boolean }>>();

function put(storage: object, key: string, own: OwnWrites, isLeft: boolean): OwnWrites {
  known.set(storage, (known.get(storage) ?? new Map<string, never>()).set(key, { own, isLeft }));
  return own;
}

export function takeWrites(storage: object, key: string, value: SavedConversation | undefined): OwnWrites {
  const { own, isLeft } = known.get(storage)?.get(key) ?? {};
  const isSame = own && isLeft && value && own.isOf(value) && !own.isRemovedFrom(value);
  return put(storage, key, isSame ? own : new OwnWrites(), false);
}

export const leaveWrites = (storage: object, key: string, own: OwnWrites): unknown => put(storage, key, own, true);

/** The value that a storage has: undefined if there is none, null if it is not JSON. */
export const parseStored = (text: string | null): unknown => (text === null ? undefined : (tryParseJson(text) ?? null));

/** Whether nothing is stored under a key any more, or what was begun after the value of this tab was removed. */
export const isRemoved = (storage: object, key: string, text: string | null): boolean =>
  text === null || known.get(storage)?.get(key)?.own.isRemovedFrom(parseStored(text)) === true;

/** A value that is read, with what this tab has, and the storage had no room for. */
export function withHeld<T>(storage: object, key: string, value: T): T | SavedConversation {
  const stored = typeof value === 'string' ? tryParseJson(value) : undefined;
  const merged = isSavedConversation(stored) ? known.get(storage)?.get(key)?.own.withHeld(stored) : undefined;
  return merged ?? value;
}
