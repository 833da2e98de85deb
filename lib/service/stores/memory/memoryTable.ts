import { asyncScheduler } from 'rxjs';

export interface MemoryEntry {
  readonly owner: string;
  readonly size: number;
  /** When it is removed, in milliseconds since 1970. */
  readonly expires: number;
}

export interface MemoryRules<E> {
  readonly isInUse: (entry: E) => boolean;
  /** The entry is removed only if its owner has no other. Default: false. */
  readonly isNeeded?: ((entry: E) => boolean) | undefined;
}

/** What does not fit is taken from the owners that use most: an owner with less than its share loses nothing. */
export function createMemoryTable<E extends MemoryEntry>(
  maxBytes: number,
  { isInUse, isNeeded = () => false }: MemoryRules<E>,
) {
  /** In the order of their last change. */
  const entries = new Map<string, E>();
  const sizes = new Map<string, number>();
  let total = 0;

  const isExpired = (entry: E) => entry.expires <= asyncScheduler.now() && !isInUse(entry);
  const addSize = ({ owner }: E, size: number) => {
    const sum = (sizes.get(owner) ?? 0) + size;
    if (sum > 0) sizes.set(owner, sum);
    else sizes.delete(owner);
    total += size;
  };
  const remove = (id: string) => {
    const entry = entries.get(id);
    if (entry) addSize(entry, -entry.size);
    entries.delete(id);
  };
  const find = (id: string): E | undefined => {
    const entry = entries.get(id);
    if (entry && isExpired(entry)) remove(id);
    return entries.get(id);
  };
  /** Not the entry that was added last, of which somebody is told. */
  const leastNeeded = (owner: string, added: string): string | undefined => {
    let needed: string | undefined;
    for (const [id, entry] of entries) {
      if (entry.owner !== owner || id === added || isInUse(entry)) continue;
      if (!isNeeded(entry)) return id;
      needed ??= id;
    }
    return needed;
  };
  const prune = (added: string) => {
    for (const [id, entry] of entries) {
      if (isInUse(entry)) continue;
      if (entry.expires > asyncScheduler.now()) break; // later changes expire later, unless they set `expires`
      remove(id);
    }
    if (total <= maxBytes) return;
    const fairShare = maxBytes / sizes.size;
    const usesTooMuch = (owner: string) => total > maxBytes && (sizes.get(owner) ?? 0) > fairShare;
    const owners = [...sizes].sort(([, a], [, b]) => b - a).map(([owner]) => owner);
    for (const owner of owners) {
      while (usesTooMuch(owner)) {
        const id = leastNeeded(owner, added);
        if (id === undefined) break;
        remove(id);
      }
    }
  };
  const add = (id: string, entry: E) => {
    remove(id);
    entries.set(id, entry);
    addSize(entry, entry.size);
    prune(id);
  };
  return { find, remove, add, all: () => [...entries.values()].filter((entry) => !isExpired(entry)) };
}
