import { catchError, concat, concatMap, defer, EMPTY, map, of, onErrorResumeNext, repeat, takeLast } from 'rxjs';
import { takeWhile, tap, throwError, type Observable } from 'rxjs';
import { hasAnswer, mergeAnswers, type CallAnswers } from '../../core/approval.js';
import type { StreamEvent } from '../../core/event.js';
import { followingId } from '../../transport/randomId.js';
import type { AgentRequest, ResumeRequest } from '../http/browserRequest.js';
import { elsewhere, later, RequestError } from '../http/requestError.js';
import type { Kernel } from '../kernel.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import { checkAnswers } from './checkAnswers.js';
import { completeLog, isOpen, stateAtEnd } from './continueLog.js';
import type { RunTimes } from './createRuns.js';
import type { RunPlan } from './executeRun.js';
import { admitStored } from './handOver.js';
import { lastRun } from './lastRun.js';
import { isAskedIn, isOpenRun, waitingIn, waitsInMemory } from './liveAnswers.js';
import { notWaiting, planResumption, planRest, planStart } from './planRun.js';
import { replayDead, replayRecord } from './replayRecord.js';
import { settleLost } from './runEnd.js';
import type { LoggedRun } from './runLife.js';
import type { Client } from '../client.js';
import { RunNotFoundError, RunTakenError } from './runErrors.js';
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
  /** Whether the run is stopped before it does anything. Default: false. */
  readonly isStopped?: boolean | undefined;
  /** That of its request among the others. Default: it arrives now. */
  readonly place?: number | undefined;
  /** Called when a run has begun with the answers of the body. */
  readonly onUsed?: (() => void) | undefined;
}

/** Joins the run with an id, in whatever process it is; resumes it if its process has ended; or starts it. */
export const openRun = <C>(kernel: Kernel<C>, opening: Opening<C>): Observable<OpenedRun> => {
  const { id, client, place } = opening;
  const work = () => {
    if (opening.isStopped) kernel.locks.stop(id, client.owner);
    return kernel
      .joinable(id, client.owner)
      .pipe(concatMap((run): Observable<OpenedRun> => (run ? of(run) : openStored(kernel, opening))));
  };
  return kernel.locked(id, client, work, place);
};

/**
 * Continues a run that waits, or whose process has ended, and stops it before it does anything: its calls are
 * cancelled. The answer comes when its end is written, so that the stop survives this process. An answer may have
 * continued the run meanwhile, here or elsewhere: that run is told, too.
 *
 * @param tell Stops another run.
 * @returns It fails with a RunTakenError if the run is answered at this moment, so that its record is to be read again;
 * and with 503 if the run cannot be continued here, such as by another version of the service.
 */
export const stopLeft = <C>(
  kernel: Kernel<C>,
  { record }: StoredRun,
  client: Client<C>,
  tell: (id: string) => Observable<boolean>,
): Observable<boolean> => {
  if (record.resumedBy !== undefined) return lastRun(kernel, record.resumedBy, client.owner).pipe(concatMap(tell));
  const isOpen = isOpenRun(record);
  if (!isOpen && record.state !== 'waiting') return EMPTY;
  const id = isOpen ? record.id : followingId(record.id);
  const body = isOpen ? {} : { resume: record.id, answers: {} };
  return openRun(kernel, { id, client, body, isStopped: true }).pipe(
    catchError((thrown: unknown) => {
      throw thrown instanceof RequestError && thrown.status === 409 ? new RunTakenError() : thrown;
    }),
    concatMap(() => tell(id)),
    concatMap(() => concat(kernel.runOf(id, client.owner)?.settled ?? EMPTY, kernel.access.find(id, client.owner))),
    map((stored) => {
      if (!stored) throw elsewhere(); // it could not begin
      return true;
    }),
  );
};

/** Answers a run that waits, or the last of those that continue it: that one waits for the rest. */
export const answerRun = <C>(
  kernel: Kernel<C>,
  resume: string,
  answers: CallAnswers,
  client: Client<C>,
): Observable<OpenedRun> =>
  lastRun(kernel, resume, client.owner).pipe(
    concatMap((last) => {
      const id = followingId(last); // as a page: only one of several answers starts this run
      let isUsed = false;
      const onUsed = () => void (isUsed = true);
      const opened = openRun(kernel, { id, client, body: { resume: last, answers }, grace: Infinity, onUsed });
      const answerNext = () =>
        kernel.access.find(id, client.owner).pipe(
          concatMap((next) => {
            if (next?.record.state !== 'waiting' && next?.record.resumedBy === undefined)
              throw notNow(kernel, answers, next);
            return answerRun(kernel, id, answers, client);
          }),
        );
      return opened.pipe(concatMap((run) => (isUsed ? of(run) : answerNext())));
    }),
  );

/** The error for answers to a run that does not wait: they are too late, or too early if it works on other answers. */
const notNow = <C>(kernel: Kernel<C>, answers: CallAnswers, run: StoredRun | undefined): RequestError =>
  run && kernel.isExecuted(run.record) && isAskedIn(run.record, answers)
    ? later(503, 'The run works on another answer. Answer again.')
    : notWaiting();

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
      const started = planStart(kernel, id, body, client).pipe(concatMap((plan) => launch(kernel, plan, opening)));
      return kernel.limits.countPrompt(client.owner, started);
    }),
  );
}

/** Stops a run that another process has stopped after it had begun to wait. */
function stopLate<C>(kernel: Kernel<C>, id: string, client: Client<C>, { settled }: LoggedRun): void {
  const inbox = kernel.registry.find(id)?.inbox;
  const tell = (last: string): Observable<boolean> =>
    kernel.tell(last, client.owner, { type: 'stop' }, (run) => stopLeft(kernel, run, client, tell));
  const stopped = defer(() => (inbox?.isStopLate ? tell(id) : EMPTY));
  onErrorResumeNext(settled, stopped).subscribe();
}

/** Starts a run, or hands it to the engine that makes it durable. */
function launch<C>(
  kernel: Kernel<C>,
  plan: RunPlan,
  { grace, client }: Pick<Opening<C>, 'grace' | 'client'>,
): Observable<OpenedRun> {
  const { id } = plan.record;
  const { durable } = kernel;
  if (!durable) return kernel.launch(plan, { grace }).pipe(tap((run) => stopLate(kernel, id, client, run)));
  return concat(
    admitStored(kernel, plan, durable),
    defer(() => of(kernel.runElsewhere(id))),
  );
}

/** Resumes a run that waits, as another run. */
const resume = <C>(kernel: Kernel<C>, request: ResumeRequest, opening: Opening<C>): Observable<OpenedRun> => {
  const { id, client } = opening;
  const { owner } = client;
  /** The other request for this run has just begun it: this one joins it. */
  const joinNext = kernel.access.find(id, owner).pipe(
    map((next) => {
      throw next ? new RunTakenError() : notWaiting();
    }),
  );
  return kernel.access.find(request.resume, owner).pipe(
    concatMap((waiting) => {
      if (!waiting) throw new RunNotFoundError();
      const { state, checkpoint, begun, input, inner, resumedBy } = waiting.record;
      if (resumedBy === id) return joinNext;
      if (state !== 'waiting' || !checkpoint) throw notNow(kernel, request.answers, waiting);
      if (waitsInMemory(waiting.record))
        return answerInMemory(kernel, waiting, request.answers, opening).pipe(tap(() => opening.onUsed?.()));
      const shown = { shown: checkpoint.emitted.messages.length, shownUsage: checkpoint.state.usage };
      const { resume: resumes, answers } = request;
      const open = inner?.filter((step) => Object.hasOwn(checkpoint.open?.nested ?? {}, step.id));
      const record = { id, owner, input, ...shown, checkpoint, begun, answers, resumes, inner: open };
      const resumed = defer(() => launch(kernel, planResumption(kernel, record, client), opening));
      const checked = opening.isStopped ? resumed : checkAnswers(kernel, owner, checkpoint, answers, resumed);
      return checked.pipe(tap(() => opening.onUsed?.()));
    }),
  );
};

const isEmpty = (answers: CallAnswers): boolean =>
  Object.values(answers).every((given: object = {}) => Object.keys(given).length === 0);

/** An answer is used at once, or after the lease of a process that has ended. */
const useChecks = { count: 50, delay: 100 };

/** Answers a run that waits in memory, in whatever process. If that has ended, the run is resumed with the answers. */
function answerInMemory<C>(
  kernel: Kernel<C>,
  waiting: StoredRun,
  answers: CallAnswers,
  opening: Omit<Opening<C>, 'body'>,
): Observable<OpenedRun> {
  const { record } = waiting;
  const { id, owner, checkpoint, answersLeft } = record;
  const { client } = opening;
  if (!checkpoint || (!isEmpty(answers) && !waitingIn(record).some((call) => hasAnswer(answers, call.id))))
    throw notWaiting();
  const resumed = { ...record, answersLeft: mergeAnswers(answersLeft, answers) };
  const asked = new Set(checkpoint.open?.waiting.map((call) => JSON.stringify(call)));
  /** A run that has just ended as waiting may not have used answers that it was told: the record is read again. */
  const used = defer(() => kernel.access.find(id, owner)).pipe(
    map((now) => {
      const open = now?.record.checkpoint?.open?.waiting ?? [];
      const isOpen = open.some((call) => hasAnswer(answers, call.id) && asked.has(JSON.stringify(call)));
      if (isOpen && now?.record.state === 'waiting' && !waitsInMemory(now.record)) throw new RunTakenError();
      return isOpen;
    }),
    repeat(useChecks),
    takeWhile(Boolean, true),
    takeLast(1),
  );
  const told = kernel.tell(id, owner, { type: 'answers', answers }).pipe(
    concatMap((isThere) => (isThere ? used : throwError(() => new RunTakenError()))), // it has just ended
    map(() => kernel.runOf(id, owner) ?? kernel.runElsewhere(id)),
  );
  const answered =
    kernel.executor.locate(record) === 'nowhere'
      ? kernel.locked(id, client, () => launch(kernel, planResumption(kernel, resumed, client, waiting), opening))
      : told;
  return opening.isStopped ? answered : checkAnswers(kernel, owner, checkpoint, answers, answered);
}

/** Answers a run, but only while it waits in memory. Emits whether there is a run with this id. */
export const answerOpenRun = <C>(
  kernel: Kernel<C>,
  id: string,
  answers: CallAnswers,
  client: Client<C>,
): Observable<boolean> =>
  kernel.tried(() =>
    kernel.access.find(id, client.owner).pipe(
      concatMap((run) => {
        if (!run) return of(false);
        if (!waitsInMemory(run.record)) throw notWaiting();
        return answerInMemory(kernel, run, answers, { id, client }).pipe(map(() => true));
      }),
    ),
  );

/** Replays a run that has ended, and resumes one whose process ended. */
function recover<C>(kernel: Kernel<C>, run: StoredRun, opening: Opening<C>): Observable<OpenedRun> {
  const { record } = run;
  const { id, state, checkpoint, history } = record;
  const { client, after } = opening;
  if (after !== undefined && !kernel.log.isShared) throw new RunNotFoundError(); // its events were removed
  if (state === 'parked') return of(kernel.runElsewhere(id));
  if (!isOpenRun(record)) return replay(kernel, run, opening);
  const rest = defer(() => planRest(kernel, run, client).pipe(concatMap((plan) => launch(kernel, plan, opening))));
  // The first checkpoint comes before the first tool. A record that has nothing to start from is that of a lost run.
  if (kernel.isResumable && (checkpoint || history)) return rest;
  const lost = defer(() => settleLost(kernel, run).pipe(concatMap((settled) => replay(kernel, settled, opening))));
  return hasBegun(kernel, record).pipe(concatMap((isLost) => (isLost ? lost : rest)));
}

/** A run that resumes another one begins when it has taken its checkpoint. Until then, the other one waits. */
const hasBegun = <C>(kernel: Kernel<C>, { resumes, owner }: RunRecord): Observable<boolean> =>
  resumes === undefined
    ? of(true)
    : kernel.access.find(resumes, owner).pipe(map((before) => before?.record.state !== 'waiting'));

/** Replays a run that has ended: from a shared log, which has all of it; or from its record. */
function replay<C>(kernel: Kernel<C>, run: StoredRun, opening: Opening<C>): Observable<OpenedRun> {
  const { log } = kernel;
  const { id } = run.record;
  if (run.record.state === 'dead') return of(replayDead(run.record, opening.after));
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
