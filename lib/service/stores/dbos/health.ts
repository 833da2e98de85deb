import { asyncScheduler, count, forkJoin, map, type Observable } from 'rxjs';
import { listAside } from '../../deadLetters.js';
import type { RunStore } from '../../ports/runStore.js';
import { listRuns, type WorkflowList } from './engine.js';

/** How the runs of a queue are. */
export interface DurableHealth {
  /** How many runs wait for a worker. */
  readonly queued: number;
  /** How long the oldest of them waits, in milliseconds. 0 if none waits. */
  readonly oldest: number;
  /** How many runs are executed, by all workers. */
  readonly executing: number;
  /** The versions whose runs have waited for 10 s, while no worker executes one of that version: none may be there. */
  readonly unserved: readonly string[];
  /** How many runs were set aside: see `deadLetters`. Those of all queues of the store. */
  readonly dead: number;
  readonly parked: number;
}

/** How long runs of a version may wait before it counts as not served, in milliseconds. */
const SERVED_TIME = 10_000;

/** Reads the health of a queue. */
export function readHealth(client: WorkflowList, store: RunStore, queueName: string): Observable<DurableHealth> {
  const workflows = listRuns(client, { queueName, status: ['ENQUEUED', 'PENDING'] });
  const aside = (state: 'dead' | 'parked') => listAside(store, state).pipe(count());
  return forkJoin([workflows, aside('dead'), aside('parked')]).pipe(
    map(([all, dead, parked]) => {
      const executing = all.filter(({ status }) => status === 'PENDING');
      const queued = all.filter(({ status }) => status !== 'PENDING');
      const served = new Set(executing.map(({ applicationVersion }) => applicationVersion));
      const waitOf = ({ createdAt = asyncScheduler.now() }) => asyncScheduler.now() - createdAt;
      const late = queued.filter((each) => waitOf(each) > SERVED_TIME && !served.has(each.applicationVersion));
      return {
        queued: queued.length,
        oldest: Math.max(0, ...queued.map(waitOf)),
        executing: executing.length,
        unserved: [...new Set(late.map(({ applicationVersion = '' }) => applicationVersion))],
        dead,
        parked,
      };
    }),
  );
}
