import type { Observable } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import type { RunResult } from '../core/event.js';
import type { Input } from '../core/input.js';
import type { DeadLetters } from './deadLetters.js';
import type { OwnerData } from './ownerData.js';
import type { ListedRecord } from './ports/recordStore.js';
import type { RunRecord } from './ports/runStore.js';
import type { Readiness } from './readiness.js';
import type { Runs } from './runs/createRuns.js';
import type { SharedRun } from './runs/sharedRun.js';

export interface ServiceRunOptions<C> {
  /** The value for tools, from which the option `owner` of the service tells whose run it is. */
  readonly context: C;
  /** The ids of the runs before it, oldest first. Default: none. */
  readonly history?: readonly string[] | undefined;
}

/** Which runs are listed: those of one owner. `everyOwner` is for an administrator: no protocol has it. */
export type RunQuery = ({ readonly owner: string } | { readonly everyOwner: true }) & {
  /** Default: runs in any state. */
  readonly state?: RunRecord['state'] | undefined;
};

/** A service: the runs of an agent, their stores, owners and limits. Protocols are functions over it. */
export interface Service<C = unknown> extends OwnerData {
  /**
   * Starts a run without a page, which goes on without a reader. A page joins it with its id (`remoteAgent` with
   * `run`), as its owner.
   *
   * @param id The id of the run: a random UUID. If there is such a run, it is joined, as by a repeated request.
   * @returns Emits the run when its record is written, and completes. It fails if a limit of the owner is reached, or
   * if the service ends.
   */
  run(id: string, input: Input, options: ServiceRunOptions<C>): Observable<SharedRun>;
  /**
   * Answers a run that waits, as a page does: from a link in an e-mail, or a job that ends questions whose time is up.
   *
   * @param id The id of the run that waits, or of an earlier one that it continues.
   * @param answers By the ids of the calls in `waiting` of `runs`. Questions without an answer wait on.
   * @returns Emits the run that continues it, and completes. It fails if the run does not wait any more, if
   * only its client answers it (AG-UI, `useChat`), and if the answers are not valid: the run then waits on. While it
   * works on another answer, it fails with the status 503: answer again.
   */
  answer(id: string, answers: CallAnswers, options: Pick<ServiceRunOptions<C>, 'context'>): Observable<SharedRun>;
  /**
   * Continues the runs that wait for a question whose time (`within`) is over, for a job: nobody may look at them.
   * Their other questions wait on. Runs of AG-UI and of `useChat` are left to their clients. A run that cannot be
   * continued, since its owner has reached a limit, is continued by a later call; its error, and one of the store, goes
   * to `onError`.
   *
   * @param query Whose runs.
   * @param contextOf Returns the context of a run, for its tools.
   * @returns Emits the runs that it has continued.
   */
  continueExpired(query: RunQuery, contextOf: (run: ListedRecord<RunRecord>) => C): Observable<SharedRun>;
  /**
   * Emits the runs of the store, the one that was changed last first, page by page. With the state `waiting`, each has
   * the calls and the questions for which it waits.
   */
  runs(query: RunQuery): Observable<ListedRecord<RunRecord> & Pick<RunResult, 'waiting'>>;
  /** The runs that were set aside, for an operator: those of all owners. No protocol has them. */
  deadLetters(): DeadLetters;
  /**
   * Whether the service can serve requests, for a readiness probe: its store and its log answer within 2 seconds, and
   * it is not ending. It emits once, and does not fail.
   */
  ready(): Observable<Readiness>;
  /** Ends the service, for `SIGTERM`, with all of its protocols: see `Runs.shutdown`. */
  readonly shutdown: Runs['shutdown'];
}

/** A handler of the requests of a protocol. It also ends the service, and has the data of its owners. */
export interface AgentHandler extends Pick<Service, 'ready' | 'shutdown'>, OwnerData {
  /** @param incoming The request of a framework, for the option `context` of the service. Default: none. */
  (request: Request, incoming?: unknown): Promise<Response>;
}
