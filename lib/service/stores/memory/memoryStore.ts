import { asyncScheduler, defer, filter, from, map, of, take, toArray } from 'rxjs';
import { requireNumbers } from '../../../core/options.js';
import { estimateSize } from '../../runs/estimateSize.js';
import { OWNERS } from '../../ownerUsage.js';
import { PAGE_SIZE, pageOf, placeOf } from '../recordPage.js';
import { createMemoryTable, type MemoryEntry } from './memoryTable.js';
import { createRecordList } from './recordList.js';
import type { ListedRecord, RecordStore, StorableRecord, Stored } from '../../ports/recordStore.js';
import type { RunRecord } from '../../ports/runStore.js';

/** Limits of the memory that is used. */
export interface MemoryOptions {
  /** About how many bytes are kept, with the objects of small records. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long a record is kept after its last change, in milliseconds. Default: 24 hours. */
  readonly maxAge?: number | undefined;
}

export const DEFAULT_MAX_BYTES = 67_108_864;
export const DEFAULT_MAX_AGE = 86_400_000;

/** What V8 needs for the objects of a small record besides its JSON (measured). */
const RECORD_BYTES = 832;

interface Entry<R> extends Stored<R>, MemoryEntry {}

/**
 * Creates a store in memory. It is lost when the process ends, and other processes do not see it.
 *
 * When it is full, it removes records of the owner that uses most of it, oldest change first: those that wait come
 * last. One that is executed is never removed, and an owner that uses less than its share (`maxBytes` divided by the
 * number of owners) loses nothing. What a service counts for its limits stays until its time is over, besides
 * `maxBytes`: about 1 KB for each user of the last `budget.window`, and 15 bytes for each prompt of the last minute.
 *
 * @param options `maxBytes` (default: 64 MiB), `maxAge` in milliseconds (default: 24 hours).
 */
export function memoryStore<R extends StorableRecord = RunRecord>({
  maxBytes = DEFAULT_MAX_BYTES,
  maxAge = DEFAULT_MAX_AGE,
}: MemoryOptions = {}): RecordStore<R> {
  requireNumbers({ maxBytes, maxAge }, 0);
  const all = createRecordList<Entry<R>>();
  const table = createMemoryTable(maxBytes, all);
  return {
    get: (id) =>
      defer(() => {
        const entry = table.find(id);
        return of(entry && { record: entry.record, version: entry.version });
      }),
    put: (record, version) =>
      defer(() => {
        const known = table.find(record.id);
        if ((known?.version ?? 0) !== version) return of(false);
        const { id, owner, expires = asyncScheduler.now() + maxAge } = record;
        const isCount = owner === OWNERS;
        const isSame = known && isMeasured(record, version);
        const size = isSame ? known.size : isCount ? 0 : RECORD_BYTES + estimateSize(record);
        const [usedUntil, isNeeded] = [isCount ? expires : (record.executor?.until ?? 0), record.state === 'waiting'];
        table.add(id, { record, version: version + 1, owner, size, expires, usedUntil, isNeeded });
        return of(true);
      }),
    delete: (id, version) =>
      defer(() => {
        const known = table.find(id)?.version;
        if (known === version) table.remove(id);
        return of(known === undefined || known === version);
      }),
    list: ({ owner, state, cursor }) =>
      defer(() => {
        const after = cursor === undefined ? undefined : placeOf(cursor);
        const isMeant = ({ record }: Entry<R>) =>
          (owner ?? record.owner) === record.owner && (state ?? record.state) === record.state;
        return from(all.after(after)).pipe(
          filter((entry) => isMeant(entry) && table.find(entry.record.id) !== undefined),
          take(PAGE_SIZE + 1),
          map(listedRecord),
          toArray(),
          map(pageOf),
        );
      }),
  };
}

/**
 * Whether the size of the version before is good enough: a run that is executed is measured when the number of its
 * versions has doubled, and at its end. Measuring each one made a run of 1,000 inner runs take 5 s instead of 1 s.
 */
const isMeasured = ({ executor }: StorableRecord, version: number): boolean =>
  executor !== undefined && !Number.isInteger(Math.log2(version));

const listedRecord = <R extends StorableRecord>({ record, version }: Stored<R>): ListedRecord<R> => {
  const { id, owner, state, title, updated }: StorableRecord = record;
  return { id, owner, state, title, updated, version } as ListedRecord<R>;
};
