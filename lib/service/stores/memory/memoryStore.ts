import { asyncScheduler, defer, of } from 'rxjs';
import { createMemoryTable } from './memoryTable.js';
import type { MemoryOptions } from './memoryTable.js';
import type { RunRecord, RunStore } from '../../ports/runStore.js';

/** How many runs a page of a list has. */
const PAGE_SIZE = 100;

/**
 * Creates a store in memory. It is lost when the process ends, and other processes do not see it.
 *
 * When it is full, it removes runs of the owner that uses most of it, oldest first: those that have ended, then those
 * that wait. A running one is never removed, and an owner that uses less than its share (`maxBytes` divided by the
 * number of owners) loses nothing.
 *
 * @param options `maxBytes` (default: 64 MiB), `maxAge` in milliseconds (default: 24 hours).
 */
export function memoryStore(options: MemoryOptions = {}): RunStore {
  const table = createMemoryTable<RunRecord>(options, {
    isInUse: ({ executor }) => executor !== undefined && executor.until > asyncScheduler.now(),
    isNeeded: ({ state }) => state === 'waiting',
  });
  return {
    get: (id) =>
      defer(() => {
        const entry = table.get(id);
        return of(entry && { record: entry.record, version: entry.version });
      }),
    put: (record, version) => defer(() => of(table.put(record, version))),
    delete: (id, version) => defer(() => of(table.delete(id, version))),
    list: (owner, cursor = '0') =>
      defer(() => {
        const runs = table
          .ofOwner(owner)
          .filter(({ serial }) => serial > Number(cursor))
          .sort((a, b) => a.serial - b.serial);
        const page = runs.slice(0, PAGE_SIZE);
        return of({
          runs: page.map(({ record, version }) => ({ record, version })),
          next: runs.length > PAGE_SIZE ? String(page.at(-1)?.serial) : undefined,
        });
      }),
  };
}
