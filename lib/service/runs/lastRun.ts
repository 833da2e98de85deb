import { asapScheduler, EMPTY, expand, reduce, subscribeOn, type Observable } from 'rxjs';
import type { Kernel } from '../kernel.js';

/** The id of the last run of a chain, each of which resumes the one before. It may be long: each has its own stack. */
export const lastRun = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<string> =>
  kernel.tried(() => {
    const find = (run: string) => kernel.access.find(run, owner).pipe(subscribeOn(asapScheduler));
    return find(id).pipe(
      expand((run) => (run?.record.resumedBy === undefined ? EMPTY : find(run.record.resumedBy))),
      reduce((last, run) => run?.record.id ?? last, id),
    );
  });
