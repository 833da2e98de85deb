import { asyncScheduler, defer, of } from 'rxjs';
import { requireNumber } from '../../../core/options.js';
import { estimateSize } from '../../runs/estimateSize.js';
import { PAGE_SIZE, pageOf, placeOf } from '../recordPage.js';
import type { ListPlace } from '../recordPage.js';
import type { ListedRecord, RecordStore, StorableRecord, Stored } from '../../ports/recordStore.js';
import type { RunRecord } from '../../ports/runStore.js';

/** Limits of the memory that is used. */
export interface MemoryOptions {
  /** About how many bytes are kept. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long a record is kept after its last change, in milliseconds. Default: 24 hours. */
  readonly maxAge?: number | undefined;
}

export const DEFAULT_MAX_BYTES = 67_108_864;
export const DEFAULT_MAX_AGE = 86_400_000;

/** A record in the memory. */
interface Entry<R> extends Stored<R> {
  readonly size: number;
  readonly expires: number;
}

/**
 * Creates a store in memory. It is lost when the process ends, and other processes do not see it.
 *
 * When it is full, it removes records of the owner that uses most of it, oldest change first: those that wait come
 * last. One that is executed is never removed, and an owner that uses less than its share (`maxBytes` divided by the
 * number of owners) loses nothing.
 *
 * @param options `maxBytes` (default: 64 MiB), `maxAge` in milliseconds (default: 24 hours).
 */
export function memoryStore<R extends StorableRecord = RunRecord>({
  maxBytes = DEFAULT_MAX_BYTES,
  maxAge = DEFAULT_MAX_AGE,
}: MemoryOptions = {}): RecordStore<R> {
  requireNumber('maxBytes', maxBytes, 0);
  requireNumber('maxAge', maxAge, 0);
  const { entries, find, remove, add } = createTable<R>(maxBytes);
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
        add({ record, version: version + 1, size, expires });
        return of(true);
      }),
    delete: (id, version) =>
      defer(() => {
        const known = find(id)?.version;
        if (known === version) remove(id);
        return of(known === undefined || known === version);
      }),
    list: ({ owner, state, cursor }) =>
      defer(() => {
        const after = cursor === undefined ? undefined : placeOf(cursor);
        const found = [...entries.values()]
          .filter((entry) => !isExpired(entry) && (owner === null || entry.record.owner === owner))
          .filter(({ record }) => state === undefined || record.state === state)
          .filter(({ record }) => !after || byPlace(after, record) < 0)
          .sort((a, b) => byPlace(a.record, b.record));
        return of(pageOf(found.slice(0, PAGE_SIZE + 1).map(listedRecord)));
      }),
  };
}

/** Records with their sizes. What expires or does not fit is removed when a record is added. */
function createTable<R extends StorableRecord>(maxBytes: number) {
  /** In the order of their last change. */
  const entries = new Map<string, Entry<R>>();
  const sizes = new Map<string, number>();
  let total = 0;

  const addSize = ({ owner }: R, size: number) => {
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
  const find = (id: string): Entry<R> | undefined => {
    const entry = entries.get(id);
    if (entry && isExpired(entry)) remove(id);
    return entries.get(id);
  };
  /** The next record of an owner to remove. */
  const leastNeeded = (owner: string): string | undefined => {
    const records = [...entries.values()].map(({ record }) => record);
    const removable = records.filter((record) => record.owner === owner && !isInUse(record));
    return (removable.find(({ state }) => state !== 'waiting') ?? removable[0])?.id;
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
  const add = (entry: Entry<R>) => {
    entries.set(entry.record.id, entry);
    addSize(entry.record, entry.size);
    prune();
  };
  return { entries, find, remove, add };
}

const isInUse = ({ executor }: StorableRecord) => executor !== undefined && executor.until > asyncScheduler.now();
const isExpired = ({ expires, record }: Entry<StorableRecord>) => expires <= asyncScheduler.now() && !isInUse(record);

/** Sorts the record that was changed last to the front. */
const byPlace = (a: ListPlace, b: ListPlace): number =>
  b.updated - a.updated || (a.id > b.id ? -1 : Number(a.id < b.id));

const listedRecord = <R extends StorableRecord>({ record, version }: Stored<R>): ListedRecord<R> => {
  const { id, owner, state, title, updated }: StorableRecord = record;
  return { id, owner, state, title, updated, version } as ListedRecord<R>;
};
