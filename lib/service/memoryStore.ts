import { asyncScheduler, defer, of } from 'rxjs';
import { requireNumber } from '../core/options.js';
import type { RunRecord, RunStore, StoredRun } from './runStore.js';
import { estimateSize } from './estimateSize.js';

/** Limits of the memory that is used. */
export interface MemoryOptions {
  /** About how many bytes are kept. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long a run is kept after its last change, in milliseconds. Default: 24 hours. */
  readonly maxAge?: number | undefined;
}

export const DEFAULT_MAX_BYTES = 67_108_864;
export const DEFAULT_MAX_AGE = 86_400_000;

/** How many runs a page of a list has. */
const PAGE_SIZE = 100;

interface Entry extends StoredRun {
  /** The place of the run in lists. */
  readonly serial: number;
  readonly size: number;
  readonly expires: number;
}

/**
 * Creates a store in memory. It is lost when the process ends, and other processes do not see it.
 *
 * When it is full, it removes runs of the owner that uses most of it, oldest first: those that have ended, then those
 * that wait. A running one is never removed, and an owner that uses less than its share (`maxBytes` divided by the
 * number of owners) loses nothing.
 *
 * @param options `maxBytes` (default: 64 MiB), `maxAge` in milliseconds (default: 24 hours).
 */
export function memoryStore({ maxBytes = DEFAULT_MAX_BYTES, maxAge = DEFAULT_MAX_AGE }: MemoryOptions = {}): RunStore {
  requireNumber('maxBytes', maxBytes, 0);
  requireNumber('maxAge', maxAge, 0);
  /** In the order of their last change. */
  const entries = new Map<string, Entry>();
  const sizes = new Map<string, number>();
  let total = 0;
  let serials = 0;

  const addSize = ({ owner }: RunRecord, size: number) => {
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
  const isExecuted = ({ executor }: RunRecord) => executor !== undefined && executor.until > asyncScheduler.now();
  const isExpired = ({ expires, record }: Entry) => expires <= asyncScheduler.now() && !isExecuted(record);
  const find = (id: string): Entry | undefined => {
    const entry = entries.get(id);
    if (entry && isExpired(entry)) remove(id);
    return entries.get(id);
  };
  /** The next run to remove: the oldest one that does not wait, otherwise the oldest one; never a running one. */
  const leastNeeded = (owner: string): string | undefined => {
    const runs = [...entries.values()].filter(({ record }) => record.owner === owner && !isExecuted(record));
    return (runs.find(({ record }) => record.state !== 'waiting') ?? runs[0])?.record.id;
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
    get: (id) =>
      defer(() => {
        const entry = find(id);
        return of(entry && { record: entry.record, version: entry.version });
      }),
    put: (record, version) =>
      defer(() => {
        const known = find(record.id);
        if ((known?.version ?? 0) !== version) return of(false);
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
        return of(true);
      }),
    delete: (id, version) =>
      defer(() => {
        const isThere = find(id)?.version === version;
        if (isThere) remove(id);
        return of(isThere);
      }),
    list: (owner, cursor = '0') =>
      defer(() => {
        const runs = [...entries.values()]
          .filter((entry) => entry.record.owner === owner && entry.serial > Number(cursor) && !isExpired(entry))
          .sort((a, b) => a.serial - b.serial);
        const page = runs.slice(0, PAGE_SIZE);
        return of({
          runs: page.map(({ record, version }) => ({ record, version })),
          next: runs.length > PAGE_SIZE ? String(page.at(-1)?.serial) : undefined,
        });
      }),
  };
}
