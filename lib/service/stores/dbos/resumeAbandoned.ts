import { concatMap, defer, EMPTY, from, ignoreElements, map } from 'rxjs';
import type { Observable } from 'rxjs';
import { WORKFLOW } from './engine.js';
import type { DurableEngine } from './engine.js';
import type { WorkerLock } from './workerLock.js';

/**
 * Enqueues the workflows of a queue whose workers have ended: of executors whose lock is free.
 * The lock is held meanwhile. A second worker that has seen the same workflows would otherwise enqueue one again that
 * is executed by then.
 */
export function resumeAbandoned(dbos: DurableEngine, lock: WorkerLock, own: string, queue: string): Observable<never> {
  const list = (executorId?: string) =>
    defer(() =>
      from(
        dbos.listWorkflows({
          workflowName: WORKFLOW,
          status: ['PENDING'],
          queueName: queue,
          loadInput: false,
          loadOutput: false,
          ...(executorId === undefined ? {} : { executorId }),
        }),
      ),
    ).pipe(map((workflows) => workflows.filter(({ queueName = queue }) => queueName === queue)));
  const resume = (executor: string) =>
    list(executor).pipe(
      map((workflows) => workflows.map(({ workflowID }) => workflowID)),
      concatMap((ids) => (ids.length === 0 ? EMPTY : from(dbos.resumeWorkflows(ids, { queueName: queue })))),
      ignoreElements(),
    );
  return list().pipe(
    concatMap((workflows) => new Set(workflows.map(({ executorId = '' }) => executorId))),
    concatMap((executor) => (executor === own ? EMPTY : lock.ifFree(executor, () => resume(executor)))),
  );
}
