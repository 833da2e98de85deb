import { asyncScheduler } from 'rxjs';
import { Ranking, type Ranked } from './ranking.js';

export interface MemoryEntry {
  readonly owner: string;
  readonly size: number;
  /** When it is removed, in milliseconds since 1970. */
  readonly expires: number;
  /** Until then it is in use, so it stays, in milliseconds since 1970. */
  readonly usedUntil: number;
  /** To make room, it is removed only if its owner has no other. Default: false. */
  readonly isNeeded?: boolean;
}

/** Its rank is the time when it expires or, before that, is no longer in use. */
interface Kept<E> extends Ranked {
  readonly entry: E;
  /** Its place among those of its owner. */
  readonly turn: Ranked;
}

/** Its rank is what it uses, as a negative number. */
interface Owner extends Ranked {
  /** What can be removed to make room. */
  readonly removable: Ranking<Ranked>;
}

/** Is told what is added and removed. */
type Changed<E> = Readonly<Record<'add' | 'delete', (entry: E) => void>>;

/** What does not fit is taken from the owners that use most: an owner with less than its share loses nothing. */
export function createMemoryTable<E extends MemoryEntry>(maxBytes: number, list?: Changed<E>) {
  const entries = new Map<string, Kept<E>>();
  const byTime = new Ranking<Kept<E>>();
  const owners = new Map<string, Owner>();
  /** The owners of which something can be removed. */
  const givers = new Ranking<Owner>();
  let total = 0;
  let order = 0;

  const isExpired = ({ expires, usedUntil }: E) => Math.max(expires, usedUntil) <= asyncScheduler.now();
  const changeOwner = (id: string, size: number, change: (removable: Owner['removable']) => void = () => undefined) => {
    const owner = owners.get(id) ?? { id, rank: 0, order, place: -1, removable: new Ranking() };
    change(owner.removable);
    total += size;
    owner.rank -= size;
    owner.order = order;
    if (owner.rank < 0) owners.set(id, owner);
    else owners.delete(id);
    if (owner.removable.first) givers.set(owner, owner.rank);
    else givers.delete(owner);
  };
  const remove = (id: string) => {
    const kept = entries.get(id);
    if (!kept) return;
    entries.delete(id);
    list?.delete(kept.entry);
    byTime.delete(kept);
    changeOwner(kept.entry.owner, -kept.entry.size, (removable) => removable.delete(kept.turn));
  };
  const find = (id: string): E | undefined => {
    const entry = entries.get(id)?.entry;
    return entry && !isExpired(entry) ? entry : undefined;
  };
  /** It is not in use. */
  const release = (kept: Kept<E>) => {
    const { owner, expires, isNeeded } = kept.entry;
    byTime.set(kept, expires);
    changeOwner(owner, 0, (removable) => removable.set(kept.turn, isNeeded ? 1 : 0));
  };
  const removeExpired = () => {
    for (let kept = byTime.first; kept && kept.rank <= asyncScheduler.now(); kept = byTime.first)
      if (isExpired(kept.entry)) remove(kept.id);
      else release(kept);
  };
  const makeRoom = () => {
    const fairShare = maxBytes / owners.size;
    for (let owner = givers.first; total > maxBytes && owner && -owner.rank > fairShare; owner = givers.first)
      remove(owner.removable.first?.id ?? '');
  };
  const add = (id: string, entry: E) => {
    remove(id);
    removeExpired();
    if (isExpired(entry)) return;
    order += 1;
    const kept = { id, entry, turn: { id, rank: 0, order, place: -1 }, rank: 0, order, place: -1 };
    entries.set(id, kept);
    list?.add(entry);
    changeOwner(entry.owner, entry.size);
    makeRoom(); // of this entry, somebody is told that it was added
    if (entry.usedUntil > asyncScheduler.now()) byTime.set(kept, entry.usedUntil);
    else release(kept);
  };
  return { find, remove, add };
}
