import { catchError, concatMap, EMPTY, filter, map, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { RunTakenError } from '../ports/runLog.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import type { Service } from '../service.js';
import { completeLog, isOpen, stateAtEnd } from './continueLog.js';
import type { RunPlan } from './executeRun.js';
import { recordOf } from './handOver.js';
import type { Client } from './runAccess.js';

/** How the protocol of a service plans the execution of a record. */
interface Plans<C> {
  readonly start: (
    id: string,
    prompt: { readonly input: RunRecord['input']; readonly history: NonNullable<RunRecord['history']> },
    client: Client<C>,
    run: StoredRun,
  ) => Observable<RunPlan>;
  readonly resume: (record: RunRecord, client: Client<C>, run: StoredRun) => RunPlan;
}

/**
 * Executes a run whose record is in the store, from its start or its checkpoint, whoever executed it before. It
 * completes at the end of the run, also if that is an error, and fails if this process cannot execute it to its end. It
 * may then be subscribed again.
 */
export type ExecuteStored<C> = (id: string, context: C) => Observable<never>;

export function executeStored<C>(service: Service<C>, { start, resume }: Plans<C>): ExecuteStored<C> {
  const { store, log, executor } = service;
  /** Emits nothing if there is nothing left to do. */
  const plan = (run: StoredRun, client: Client<C>): Observable<RunPlan> => {
    const { record } = run;
    const { id, state, checkpoint, input, history = [] } = record;
    if (state !== 'running')
      return stateAtEnd(log, id).pipe(
        filter(isOpen),
        map(() => completeLog(log, run)),
      );
    return checkpoint ? of(resume(record, client, run)) : start(id, { input, history }, client, run);
  };
  return (id, context) =>
    service
      .locked(id, { owner: '', context }, () =>
        recordOf(store, id).pipe(
          concatMap((run) => plan(run, { owner: run.record.owner, context })),
          concatMap((planned) => service.launch(planned)),
        ),
      )
      .pipe(
        concatMap(({ settled }) => settled),
        // The process that has taken the run executes it, unless it has ended since.
        catchError((thrown: unknown) => {
          if (!(thrown instanceof RunTakenError)) throw thrown;
          return recordOf(store, id).pipe(
            concatMap(({ record }) => (executor.locate(record) === 'elsewhere' ? EMPTY : throwError(() => thrown))),
          );
        }),
      );
}
