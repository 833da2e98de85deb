import { catchError, concatMap, EMPTY, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Kernel } from '../kernel.js';
import { recordOf } from './handOver.js';
import { planExecution } from './planRun.js';
import { RunTakenError } from './runErrors.js';

/**
 * Executes a run whose record is in the store, from its start or its checkpoint, whoever executed it before. It
 * completes at the end of the run, also if that is an error, and fails if this process cannot execute it to its end. It
 * may then be subscribed again.
 */
export const executeStored = <C>(kernel: Kernel<C>, id: string, context: C): Observable<never> =>
  kernel
    .locked(id, { owner: '', context }, () =>
      recordOf(kernel.store, id).pipe(
        concatMap((run) => planExecution(kernel, run, { owner: run.record.owner, context })),
        concatMap((plan) => kernel.launch(plan)),
      ),
    )
    .pipe(
      concatMap(({ settled }) => settled),
      // The process that has taken the run executes it, unless it has ended since.
      catchError((thrown: unknown) => {
        if (!(thrown instanceof RunTakenError)) throw thrown;
        return recordOf(kernel.store, id).pipe(
          concatMap(({ record }) =>
            kernel.executor.locate(record) === 'elsewhere' ? EMPTY : throwError(() => thrown),
          ),
        );
      }),
    );
