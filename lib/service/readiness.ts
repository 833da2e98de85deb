import { catchError, defer, forkJoin, map, of, timeout, type Observable } from 'rxjs';
import type { RunLog } from './ports/runLog.js';
import type { RunStore } from './ports/runStore.js';

/** Whether a service can serve requests, and why not. */
export interface Readiness {
  readonly isReady: boolean;
  /** Whether the store answers. */
  readonly store: boolean;
  /** Whether the log answers. */
  readonly log: boolean;
  /** Whether it ends: it starts no runs any more. */
  readonly isEnding: boolean;
}

/** How long a port may take, in milliseconds. */
const READY_TIME = 2000;

/** Asks the guarded ports, which report why one does not answer. */
export const readinessOf = (store: RunStore, log: RunLog, isEnding: () => boolean): Observable<Readiness> =>
  forkJoin({ store: answers(() => store.get('ready')), log: answers(() => log.state('ready')) }).pipe(
    map((ports) => ({ isReady: ports.store && ports.log && !isEnding(), ...ports, isEnding: isEnding() })),
  );

const answers = (call: () => Observable<unknown>): Observable<boolean> =>
  defer(call).pipe(
    map(() => true),
    timeout({ first: READY_TIME }),
    catchError(() => of(false)),
  );
