import { asapScheduler, defaultIfEmpty, EMPTY, expand, filter, of, reduce, subscribeOn, takeLast } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Kernel } from '../kernel.js';
import type { StoredRun } from '../ports/runStore.js';

/** A run, and those that continue it, each the one before. They may be many: each has its own stack. */
const chainOf = <C>({ access }: Kernel<C>, id: string, owner: string): Observable<StoredRun> => {
  const find = (run: string) =>
    access.find(run, owner).pipe(
      filter((stored) => stored !== undefined),
      subscribeOn(asapScheduler),
    );
  return find(id).pipe(expand(({ record }) => (record.resumedBy === undefined ? EMPTY : find(record.resumedBy))));
};

/** The id of the last run of a chain, each of which resumes the one before. */
export const lastRun = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<string> =>
  kernel.tried(() => chainOf(kernel, id, owner).pipe(reduce((_, { record }) => record.id, id)));

/** The last one that has ended of a run and those that continue it: a page may have left before it knew of them. */
export const lastEnded = <C>(kernel: Kernel<C>, run: StoredRun): Observable<StoredRun> => {
  const { id, owner, resumedBy } = run.record;
  if (resumedBy === undefined) return of(run);
  return chainOf(kernel, id, owner).pipe(
    filter(({ record }) => (record.result ?? record.failure) !== undefined),
    takeLast(1),
    defaultIfEmpty(run),
  );
};
