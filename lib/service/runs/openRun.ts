import { asyncScheduler, concat, concatMap, defer, EMPTY, filter, ignoreElements, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import { HISTORY_LOST_EVENT } from '../../core/connectionEvents.js';
import type { StreamEvent } from '../../core/event.js';
import type { EarlierRun } from '../../transport/earlierRun.js';
import type { AgentRequest, ResumeRequest, StartRequest } from '../http/agentRequest.js';
import { RequestError } from '../http/requestError.js';
import type { Kernel } from '../kernel.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import { completeLog, isOpen, stateAtEnd } from './continueLog.js';
import type { RunTimes } from './createRuns.js';
import type { RunPlan } from './executeRun.js';
import { continueRun, handOver, recordOf } from './handOver.js';
import { messagesOfRecord, replayCheckpoint, replayRecord, seenBefore } from './replayRecord.js';
import { sizeOfHistory } from './runAccess.js';
import type { Client, RunAccess } from './runAccess.js';
import { RunNotFoundError } from './runErrors.js';
import type { SharedRun } from './sharedRun.js';

/** A run for a reader: one that others read too, or the replay of one that has ended. */
export type OpenedRun = SharedRun | Observable<StreamEvent>;

/** What a client asks for. */
interface Opening<C> extends Pick<RunTimes, 'grace'> {
  readonly id: string;
  readonly client: Client<C>;
  readonly body: AgentRequest;
  /** The id of the last event that the reader has. */
  readonly after?: string | undefined;
}

/** Joins the run with an id, in whatever process it is; resumes it if its process has ended; or starts it. */
export const openRun = <C>(kernel: Kernel<C>, opening: Opening<C>): Observable<OpenedRun> => {
  const { id, client } = opening;
  return kernel.locked(id, client, () =>
    kernel
      .joinable(id, client.owner)
      .pipe(concatMap((run): Observable<OpenedRun> => (run ? of(run) : openStored(kernel, opening)))),
  );
};

/** Executes a run whose record is in the store. It completes at the end of the run, also if that is an error. */
export const executeStored = <C>(kernel: Kernel<C>, id: string, context: C): Observable<never> =>
  recordOf(kernel.store, id).pipe(
    concatMap((run) => planExecution(kernel, run, { owner: run.record.owner, context })),
    concatMap((plan) => kernel.launch(plan)),
    concatMap(({ settled }) => settled),
  );

/** Opens a run that this process does not execute. */
function openStored<C>(kernel: Kernel<C>, opening: Opening<C>): Observable<OpenedRun> {
  const { id, client, body, after } = opening;
  return kernel.access.find(id, client.owner).pipe(
    concatMap((run) => {
      if (run && !kernel.durable && kernel.executor.locate(run.record) === 'elsewhere')
        return of(kernel.runElsewhere(id));
      if (run) return recover(kernel, run, opening);
      if (after !== undefined) throw new RunNotFoundError();
      if (body.resume !== undefined) return resume(kernel, body, opening);
      if (body.input === undefined) throw new RunNotFoundError();
      return planStart(kernel, id, body, client).pipe(concatMap((plan) => launch(kernel, plan, opening)));
    }),
  );
}

/** Starts a run, or hands it to the engine that makes it durable. */
function launch<C>(kernel: Kernel<C>, plan: RunPlan, { grace }: Opening<C>): Observable<OpenedRun> {
  const { id } = plan.record;
  const enqueue = kernel.durable?.enqueue;
  if (!enqueue) return kernel.launch(plan, { grace });
  return concat(
    handOver(kernel, plan, enqueue(id, plan.context as C)),
    defer(() => of(kernel.runElsewhere(id))),
  );
}

/** Resumes a run that waits, as another run. */
const resume = <C>(kernel: Kernel<C>, request: ResumeRequest, opening: Opening<C>): Observable<OpenedRun> => {
  const { id, client } = opening;
  const { owner } = client;
  return kernel.access.find(request.resume, owner).pipe(
    concatMap((waiting) => {
      if (!waiting) throw new RunNotFoundError();
      const { state, checkpoint, input, result } = waiting.record;
      if (state !== 'waiting' || !checkpoint) throw notWaiting();
      const shown = { shown: result?.messages.length, shownUsage: checkpoint.state.usage };
      const { resume: resumes, answers } = request;
      const record = { id, owner, input, ...shown, checkpoint, answers, resumes };
      return launch(kernel, planResumption(kernel, record, client), opening);
    }),
  );
};

/** Replays a run that has ended, and resumes one whose process ended. */
function recover<C>(kernel: Kernel<C>, run: StoredRun, opening: Opening<C>): Observable<OpenedRun> {
  const { record } = run;
  const { id, state, checkpoint, input, history } = record;
  const { client, after } = opening;
  if (after !== undefined && !kernel.log.isShared) throw new RunNotFoundError(); // its events were removed
  if (state !== 'running') return replay(kernel, run, opening);
  if (!kernel.isResumable)
    return kernel.access
      .settleLost(run, kernel.describe(new RunNotFoundError()))
      .pipe(concatMap((settled) => replay(kernel, settled, opening)));
  if (checkpoint) return launch(kernel, planResumption(kernel, record, client, run), opening);
  // The first checkpoint comes before the first tool, so nothing was executed.
  if (!history) return of(replayRecord(record));
  const planned = planStart(kernel, id, { input, history }, client, run);
  return planned.pipe(concatMap((plan) => launch(kernel, plan, opening)));
}

/** Replays a run that has ended: from a shared log, which has all of it; or from its record. */
function replay<C>(kernel: Kernel<C>, run: StoredRun, opening: Opening<C>): Observable<OpenedRun> {
  const { log } = kernel;
  const { id } = run.record;
  if (!log.isShared) return of(replayRecord(run.record));
  return stateAtEnd(log, id).pipe(
    concatMap((state): Observable<OpenedRun> => {
      // Its process has ended between the last write of the record and that of the log.
      if (isOpen(state)) return launch(kernel, completeLog(log, run), opening);
      const isLogged = opening.after !== undefined || state?.hasEvents === true;
      return of(isLogged ? kernel.runElsewhere(id) : replayRecord(run.record));
    }),
  );
}

/** Plans a run from its start, with the runs before it as history. */
const planStart = <C>(
  kernel: Kernel<C>,
  id: string,
  { input, history }: Pick<StartRequest, 'input' | 'history'>,
  { owner, context }: Client<C>,
  before?: StoredRun,
): Observable<RunPlan> => {
  const ids = history.map((run) => run.id);
  return kernel.access.findAll(ids, owner).pipe(
    map((runs) => {
      // An unknown run contributes only its prompt: the page shows it, but its request never arrived.
      const findRecord = (run: EarlierRun) => runs.get(run.id)?.record ?? run;
      const messages = history.map(findRecord).flatMap(messagesOfRecord);
      const kept = history.map((run) => (runs.has(run.id) ? { id: run.id, input: [] } : run));
      const lost = history.filter((run) => run.hasBegun && !runs.has(run.id)).map((run) => run.id);
      const { checkpoints } = kernel;
      const options = { context, fragments: true, checkpoints, runId: id, history: messages } as const;
      return {
        record: { id, owner, input, history: kept, begun: before?.record.begun },
        stored: before,
        context,
        bytes: [...runs.values()].reduce((sum, run) => sum + sizeOfHistory(run.record), 0),
        events: (controls, wrapTurn) =>
          concat(
            lost.length > 0 ? of({ type: HISTORY_LOST_EVENT, runs: lost }) : EMPTY,
            continued(kernel, before, kernel.agentFor().stream(input, { ...options, ...controls, wrapTurn })),
          ),
      };
    }),
  );
};

/** Plans a run that resumes a checkpoint. Its record has the checkpoint before that of the waiting run loses it. */
function planResumption<C>(
  kernel: Kernel<C>,
  record: RunPlan['record'],
  { context }: Client<C>,
  before?: StoredRun,
): RunPlan {
  const { id, resumes, checkpoint, answers } = record;
  const { access, log, checkpoints } = kernel;
  const options = { ...answers, context, fragments: true, checkpoints, runId: id } as const;
  const resumesOther = resumes !== undefined && answers !== undefined;
  return {
    record,
    stored: before,
    context,
    clientErrors: answers?.errors,
    events: (controls, wrapTurn) => {
      if (!checkpoint) throw new RunNotFoundError();
      const rest = kernel.agentFor().resume(checkpoint, { ...options, ...controls, wrapTurn });
      if (log.isShared) return continued(kernel, before, rest, checkpoint);
      return concat(resumesOther ? EMPTY : replayCheckpoint(checkpoint, seenBefore(record)), rest);
    },
    ...(resumesOther
      ? { begin: takeCheckpoint(access, resumes, record), undo: returnCheckpoint(access, resumes, record) }
      : {}),
  };
}

/** Plans the execution of a stored run. Emits nothing if there is nothing left to do. */
function planExecution<C>(kernel: Kernel<C>, run: StoredRun, client: Client<C>): Observable<RunPlan> {
  const { record } = run;
  const { id, state, checkpoint, input, history = [] } = record;
  if (state !== 'running')
    return stateAtEnd(kernel.log, id).pipe(
      filter(isOpen),
      map(() => completeLog(kernel.log, run)),
    );
  if (checkpoint) return of(planResumption(kernel, record, client, run));
  return planStart(kernel, id, { input, history }, client, run);
}

const continued = <C>(
  { log, durable }: Kernel<C>,
  before: StoredRun | undefined,
  rest: Observable<StreamEvent>,
  checkpoint?: Checkpoint,
) => (before && log.isShared ? continueRun(log, before.record, rest, checkpoint, durable !== undefined) : rest);

/** Changes the record of a run that waits, unless it was taken otherwise. Emits whether it was changed. */
const changeWaiting = (
  access: Access,
  waitingId: string,
  owner: string,
  change: (record: RunRecord) => Partial<RunRecord> | undefined,
): Observable<boolean> =>
  access.update(waitingId, owner, (record) => {
    const changes = record && change(record);
    return record && changes && { ...record, updated: asyncScheduler.now(), ...changes };
  });

type Access = Pick<RunAccess<never>, 'update'>;
type Taker = Pick<RunRecord, 'id' | 'owner' | 'checkpoint'>;

/** Takes the checkpoint of a run that waits. If several requests do this, in any process, only one succeeds. */
export const takeCheckpoint = (access: Access, waitingId: string, { id, owner }: Taker): Observable<never> =>
  changeWaiting(access, waitingId, owner, ({ state, resumedBy }) =>
    state === 'waiting' || resumedBy === id ? { state: 'ended', checkpoint: undefined, resumedBy: id } : undefined,
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
  { id, owner, checkpoint }: Taker,
): Observable<never> =>
  changeWaiting(access, waitingId, owner, ({ resumedBy }) =>
    resumedBy === id ? { state: 'waiting', checkpoint, resumedBy: undefined } : undefined,
  ).pipe(ignoreElements());

/** The error for an answer to a run that does not wait. */
const notWaiting = () => new RequestError(409, 'This run does not wait for an answer, or was answered already.');
