import type { Observable } from 'rxjs';
import type { JsonObject } from '../core/json/json.js';
import type { OwnerBytes } from './ownerBytes.js';
import type { OwnerData } from './ownerData.js';
import type { OwnerLimits } from './ownerLimits.js';
import type { Reports } from './notices.js';
import type { RunLog, RunMessage } from './ports/runLog.js';
import type { RunStore, StoredRun } from './ports/runStore.js';
import type { Runs } from './runs/createRuns.js';
import type { Executor, RunPlan } from './runs/executeRun.js';
import type { Client, RunAccess } from './runs/runAccess.js';
import type { LoggedRun } from './runs/runLife.js';
import type { SharedRun } from './runs/sharedRun.js';

/** The kernel of a service: the functions that all protocols share. */
export interface Service<C> extends RunAccess<C>, OwnerLimits, Reports<C> {
  readonly store: RunStore;
  readonly log: RunLog;
  readonly executor: Executor;
  /** What the requests of each owner hold. */
  readonly held: OwnerBytes;
  /** A handler of requests. A thrown value is answered by `fail`. */
  handler(
    answer: (request: Request) => Observable<Response>,
    fail: (thrown: unknown) => Response,
  ): (request: Request) => Promise<Response>;
  /** Reads the body of a request. It fails with a RequestError 413 if it has more bytes; default: `maxBodyBytes`. */
  readBody(request: Request, maxBytes?: number): Observable<string>;
  /**
   * Does the work for an id after earlier work for it: no two requests of this process change a record at once. If
   * another process changes the record in the meantime, the work is done again. It fails with a RequestError 503 if the
   * store fails, or does not answer.
   */
  locked<T>(id: string, client: Client<C>, work: () => Observable<T>): Observable<T>;
  /**
   * Executes a run that can be joined. Emits the run when its record is written.
   *
   * @param plan The run.
   * @param runId The id by which it is joined. Default: that of the record.
   * @param lockId The id for which the work is done: `stop` with this id stops the run. Default: `runId`.
   */
  launch(plan: RunPlan, runId?: string, lockId?: string): Observable<LoggedRun>;
  /** Says in the record of a run that nobody executes, and nobody can resume, that it is lost. Emits the record. */
  settleLost(run: StoredRun): Observable<StoredRun>;
  /** As `runOf`, but undefined too if the run has ended and the log has removed its events: its record has the answer. */
  joinable(id: string, owner: string): Observable<SharedRun | undefined>;
  /** The run of this process with an id; undefined if there is none, or if another owner has it. */
  runOf(id: string, owner: string): SharedRun | undefined;
  /** Sends a message to a run, in whatever process it is. Emits whether there is such a run. */
  tell(id: string, owner: string, message: RunMessage): Observable<boolean>;
  /** Stops a run of this process. */
  stopRun(id: string): void;
  /** Stops the run that the work for an id begins. Returns whether there is such work of this owner. */
  stopLocked(id: string, owner: string): boolean;
  /** A run that another process executes. It throws a RequestError 503 if the log is not shared. */
  runElsewhere(id: string): SharedRun;
  /** The description of an error for the browser. */
  describe(thrown: unknown): JsonObject;
  /** Reports an error that the client does not see. */
  readonly onError: (thrown: unknown) => void;
  /** Whether an error says that a process has left a run to others: at its shutdown, or since it was too slow. */
  hasLeft(thrown: unknown): boolean;
  shutdown: Runs['shutdown'];
  readonly ownerData: OwnerData;
  /** Stops and deletes a run of an owner, and the runs that it resumed. */
  deleteRun(id: string, owner: string): Observable<never>;
}
