import { asyncScheduler, concat, concatMap, EMPTY, forkJoin, from, ignoreElements, map, of, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { HISTORY_LOST_EVENT } from '../../core/connectionEvents.js';
import type { EarlierRun } from '../../transport/earlierRun.js';
import type { StartRequest } from '../http/browserRequest.js';
import { RequestError } from '../http/requestError.js';
import { insertFiles, runsOfFiles } from '../http/runFiles.js';
import type { Kernel } from '../kernel.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import type { RunPlan } from './executeRun.js';
import { continueRun } from './continueLog.js';
import { createInnerMessages } from './innerMessages.js';
import { lastEnded } from './lastRun.js';
import { replayed } from './replayed.js';
import { innerOfCheckpoint, messagesOfRecord, replayCheckpoint, seenBefore } from './replayRecord.js';
import { sizeOfHistory, type RunAccess } from './runAccess.js';
import type { Client } from '../client.js';
import { RunNotFoundError } from './runErrors.js';

/** Plans a run from its start, with the runs before it as history. */
export const planStart = <C>(
  kernel: Kernel<C>,
  id: string,
  request: Pick<StartRequest, 'input' | 'history'>,
  { owner, context }: Client<C>,
  before?: StoredRun,
): Observable<RunPlan> => {
  const { history } = request;
  const ids = [...history.map((run) => run.id), ...runsOfFiles(request.input)];
  return kernel.access.findAll(ids, owner).pipe(
    concatMap((runs) => forkJoin([of(runs), lastRuns(kernel, runs)])),
    map(([runs, lastOf]) => {
      const input = insertFiles(request.input, runs);
      // An unknown run contributes only its prompt: the page shows it, but its request never arrived.
      const findRecord = (run: EarlierRun) => lastOf.get(run.id)?.record ?? run;
      // A client may name a run and the one that continues it, which has the messages of both.
      const records = new Map(history.map(findRecord).map((record) => [record.id, record]));
      const messages = [...records.values()].flatMap(messagesOfRecord);
      // The record has the prompts only of runs that the store does not have.
      const keptHistory = history.map((run) => (runs.has(run.id) ? { id: run.id, input: [] } : run));
      const lost = history.filter((run) => run.hasBegun && !runs.has(run.id)).map((run) => run.id);
      const { checkpoints } = kernel;
      const options = { context, fragments: true, checkpoints, runId: id, history: messages } as const;
      const inner = createInnerMessages();
      return {
        record: { id, owner, input, history: keptHistory, begun: before?.record.begun },
        stored: before,
        inner: inner.all,
        context,
        bytes: [...lastOf.values()].reduce((sum, run) => sum + sizeOfHistory(run.record), 0),
        events: (controls) => {
          const run = kernel.agentFor().stream(input, { ...options, ...controls });
          const events = continueRun(kernel.log, before?.record, run.pipe(inner.collect));
          return lost.length > 0 ? concat(of({ type: HISTORY_LOST_EVENT, runs: lost }), events) : events;
        },
      };
    }),
  );
};

/** By the ids of the runs that a client has named. */
const lastRuns = <C>(kernel: Kernel<C>, runs: ReadonlyMap<string, StoredRun>) =>
  from(runs).pipe(
    concatMap(([id, run]) => lastEnded(kernel, run).pipe(map((last) => [id, last] as const))),
    toArray(),
    map((entries) => new Map(entries)),
  );

/** Plans a run that resumes a checkpoint. Its record has the checkpoint before that of the waiting run loses it. */
export function planResumption<C>(
  kernel: Kernel<C>,
  record: RunPlan['record'],
  { context }: Client<C>,
  before?: StoredRun,
): RunPlan {
  const { id, resumes, checkpoint, answers } = record;
  const { access, log, checkpoints } = kernel;
  const given = answers ?? record.answersLeft;
  const options = { ...given, context, fragments: true, checkpoints, runId: id } as const;
  const resumesOtherRun = resumes !== undefined && answers !== undefined;
  const inner = createInnerMessages(innerOfCheckpoint(record));
  return {
    record,
    stored: before,
    resumed: checkpoint,
    inner: inner.all,
    context,
    clientErrors: given?.errors,
    events: (controls) => {
      if (!checkpoint) throw new RunNotFoundError();
      const resumed = kernel.agentFor().resume(checkpoint, { ...options, ...controls });
      const rest = resumed.pipe(inner.collect);
      // A shared log has what came before; one of this process has lost it with the process.
      if (log.isShared) return continueRun(log, before?.record, rest, checkpoint);
      return concat(
        resumesOtherRun
          ? EMPTY
          : replayCheckpoint(checkpoint, seenBefore(record), {
              inner: record.inner,
              answersLeft: record.answersLeft,
            }).pipe(replayed()),
        rest,
      );
    },
    ...(resumesOtherRun
      ? { begin: takeCheckpoint(access, resumes, record), undo: returnCheckpoint(access, resumes, record) }
      : {}),
  };
}

/** Plans the rest of a stored run that has not ended: from its checkpoint, or from its start. */
export function planRest<C>(kernel: Kernel<C>, run: StoredRun, client: Client<C>): Observable<RunPlan> {
  const { id, checkpoint, input, history = [] } = run.record;
  if (checkpoint) return of(planResumption(kernel, run.record, client, run));
  return planStart(kernel, id, { input, history }, client, run);
}

/** Changes the record of a run that waits, unless it was taken otherwise. Emits what it has written. */
const changeWaiting = (
  access: Access,
  waitingId: string,
  owner: string,
  change: (record: RunRecord) => Partial<RunRecord> | undefined,
): Observable<StoredRun | undefined> =>
  access.update(waitingId, owner, (record) => {
    const changes = record && change(record);
    return record && changes && { ...record, updated: asyncScheduler.now(), ...changes };
  });

type Access = Pick<RunAccess<never>, 'update'>;
type Taker = Pick<RunRecord, 'id' | 'owner' | 'checkpoint' | 'begun'>;

/** Takes the checkpoint of a run that waits. If several requests do this, in any process, only one succeeds. */
export const takeCheckpoint = (access: Access, waitingId: string, { id, owner }: Taker): Observable<never> =>
  changeWaiting(access, waitingId, owner, ({ state, resumedBy }) =>
    state === 'waiting' || resumedBy === id
      ? { state: 'ended', checkpoint: undefined, begun: undefined, resumedBy: id }
      : undefined,
  ).pipe(
    map((isUsed) => {
      if (!isUsed) throw notWaiting();
    }),
    ignoreElements(),
  );

/** Gives the checkpoint back: the run that took it could not begin. */
export const returnCheckpoint = (
  access: Access,
  waitingId: string,
  { id, owner, checkpoint, begun }: Taker,
): Observable<never> =>
  changeWaiting(access, waitingId, owner, ({ resumedBy }) =>
    resumedBy === id ? { state: 'waiting', checkpoint, begun, resumedBy: undefined } : undefined,
  ).pipe(ignoreElements());

/** The error for an answer to a run that does not wait. */
export const notWaiting = () =>
  new RequestError(409, 'This run does not wait for an answer, or was answered already.', {}, { code: 'not_waiting' });
