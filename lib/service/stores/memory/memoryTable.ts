import { asyncScheduler } from 'rxjs';
import { requireNumber } from '../../../core/options.js';
import { estimateSize } from '../../runs/estimateSize.js';

/** Limits of the memory that is used. */
export interface MemoryOptions {
  /** About how many bytes are kept. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long a record is kept after its last change, in milliseconds. Default: 24 hours. */
  readonly maxAge?: number | undefined;
}

export const DEFAULT_MAX_BYTES = 67_108_864;
export const DEFAULT_MAX_AGE = 86_400_000;

/** What a table requires of its records. */
interface TableRecord {
  readonly id: string;
  readonly owner: string;
  /** When it may be removed, in milliseconds since 1970. Default: `maxAge` after its last change. */
  readonly expires?: number | undefined;
}

/** Which records are removed when the memory is full. */
export interface RemovalRules<T> {
  /** Whether a record must not be removed now, even if its time is over. */
  readonly isInUse: (record: T) => boolean;
  /** Whether a record is removed only if its owner has no other one. */
  readonly isNeeded: (record: T) => boolean;
}

/** A record in a table. */
export interface TableEntry<T> {
  readonly record: T;
  /** 1 for a new record; each `put` adds 1. */
  readonly version: number;
  /** Its place among all records, in the order in which they were created. */
  readonly serial: number;
  readonly size: number;
  readonly expires: number;
}

/**
 * Creates a table of records in memory.
 *
 * When it is full, it removes records of the owner that uses most of it, oldest change first: those that are not
 * needed, then the others. One in use is never removed, and an owner that uses less than its share (`maxBytes` divided
 * by the number of owners) loses nothing.
 */
export function createMemoryTable<T extends TableRecord>(
  { maxBytes = DEFAULT_MAX_BYTES, maxAge = DEFAULT_MAX_AGE }: MemoryOptions,
  { isInUse, isNeeded }: RemovalRules<T>,
) {
  requireNumber('maxBytes', maxBytes, 0);
  requireNumber('maxAge', maxAge, 0);
  /** In the order of their last change. */
  const entries = new Map<string, TableEntry<T>>();
  const sizes = new Map<string, number>();
  let total = 0;
  let serials = 0;

  const addSize = ({ owner }: T, size: number) => {
    const sum = (sizes.get(owner) ?? 0) + size;
    if (sum > 0) sizes.set(owner, sum);
    else sizes.delete(owner);
    total += size;
  };
  const remove = (id: string) => {
    const entry = entries.get(id);
    if (entry) addSize(entry.record, -entry.size);
    entries.delete(id);
  };
  const isExpired = ({ expires, record }: TableEntry<T>) => expires <= asyncScheduler.now() && !isInUse(record);
  const find = (id: string): TableEntry<T> | undefined => {
    const entry = entries.get(id);
    if (entry && isExpired(entry)) remove(id);
    return entries.get(id);
  };
  /** The next record of an owner to remove. */
  const leastNeeded = (owner: string): string | undefined => {
    const records = [...entries.values()].map(({ record }) => record);
    const removable = records.filter((record) => record.owner === owner && !isInUse(record));
    return (removable.find((record) => !isNeeded(record)) ?? removable[0])?.id;
  };
  const prune = () => {
    for (const [id, entry] of entries) {
      if (entry.expires > asyncScheduler.now()) break; // later changes expire later, unless they set `expires`
      if (isExpired(entry)) remove(id);
    }
    if (total <= maxBytes) return;
    const fairShare = maxBytes / sizes.size;
    const usesTooMuch = (owner: string) => total > maxBytes && (sizes.get(owner) ?? 0) > fairShare;
    const owners = [...sizes].sort(([, a], [, b]) => b - a).map(([owner]) => owner);
    for (const owner of owners) {
      while (usesTooMuch(owner)) {
        const id = leastNeeded(owner);
        if (id === undefined) break;
        remove(id);
      }
    }
  };

  return {
    /** The entry with an id; undefined if there is none, or if its time is over. */
    get: find,
    /** Writes a record if the table has the named version of it; 0: if there is none. Returns whether it did. */
    put(record: T, version: number): boolean {
      const known = find(record.id);
      if ((known?.version ?? 0) !== version) return false;
      remove(record.id);
      const size = estimateSize(record);
      const { expires = asyncScheduler.now() + maxAge } = record;
      entries.set(record.id, {
        record,
        version: version + 1,
        serial: known?.serial ?? ++serials,
        size,
        expires,
      });
      addSize(record, size);
      prune();
      return true;
    },
    /** Deletes a record if the table has this version of it. Returns whether it did. */
    delete(id: string, version: number): boolean {
      const isThere = find(id)?.version === version;
      if (isThere) remove(id);
      return isThere;
    },
    /** The entries of an owner, in the order of their last change. */
    ofOwner: (owner: string): readonly TableEntry<T>[] =>
      [...entries.values()].filter((entry) => entry.record.owner === owner && !isExpired(entry)),
  };
}
