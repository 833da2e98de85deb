import { asyncScheduler, auditTime, catchError, concat, concatAll, concatMap, defer } from 'rxjs';
import { EMPTY, filter, finalize, identity, interval, map, merge, of, startWith, Subject } from 'rxjs';
import { switchMap, take, takeUntil, takeWhile, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { after } from '../core/timeLimit.js';
import { isReconnecting } from '../core/connectionEvents.js';
import type { StreamEvent, ToolResultEvent } from '../core/event.js';
import { isToolResult } from '../core/eventGuards.js';
import { toView } from '../operators/toView.js';
import { cancelView, failView, type ToolCallView, type View } from '../operators/view/view.js';
import { awake } from '../transport/pageFetch.js';
import { followingId } from '../transport/randomId.js';
import type { ConversationAgent, ConversationRunOptions } from './conversationAgent.js';
import { answeredView, answersTo, earlierRun, historyOf, openCalls } from './exchanges.js';
import type { Exchange } from './exchange.js';
import type { Exchanges } from './exchanges.js';
import type { PageTools } from './pageTools.js';
import { resumedRuns } from './resumedRuns.js';
import { noLock, type TabLock } from './tabLock.js';
import type { UnsettledRuns } from './unsettledRuns.js';

/** How many runs in a row may wait for nothing: those that another device has answered do. */
const MOST_ANSWERED = 30;

/** Of more calls, not each event is a change: a change is shown and stored with all of them. */
const MANY_CALLS = 32;

/** Milliseconds for each of these calls, between two changes: about ten times as long as a change takes. */
const PAUSE = 0.25;

/** Milliseconds after which the service is asked again whether a run waits: another device may have answered. */
const LOOK_AGAIN = 30_000;

/** Shows the events of a run, which starts from the view `base`, in its exchange. */
export type Follow = (
  id: string,
  run: string,
  base: View,
  stop: Observable<void>,
  events: () => Observable<StreamEvent>,
  onBegin?: () => void,
) => Observable<unknown>;

export type WaitingRuns = ReturnType<typeof createWaitingRuns>;

/** The time in which a run waits for results of this page and answers of the user, and the run that continues it. */
export function createWaitingRuns(
  agent: ConversationAgent,
  exchanges: Exchanges,
  tools: PageTools | undefined,
  runOptions: Pick<ConversationRunOptions, 'cancel' | 'prompts' | 'given' | 'fragments' | 'context' | 'wrapTurn'>,
  update: (id: string, change: Partial<Exchange>) => void,
  follow: Follow,
  unsettled: UnsettledRuns,
) {
  const answers = new Subject<void>();
  /** The questions whose time is over here. Once each: an agent that works elsewhere may have another clock. */
  const overdue = new Set<string>();
  /** Runs in a row that wait for nothing: a service that always says so would be asked without end. */
  let waitsInVain = 0;

  /** Executes the waiting calls of this page, and waits for answers. If saved, the service is asked at once. */
  function wait(id: string, stop: Observable<void>, isSaved = false): Observable<unknown> {
    if (exchanges.get(id).view.status !== 'waiting') return EMPTY;
    waitsInVain = openCalls(exchanges.get(id)).length > 0 ? 0 : waitsInVain + 1;
    if (waitsInVain > MOST_ANSWERED) return endWaiting(id, failView);
    let lock = noLock;
    const stopped = stop.pipe(
      map(() => endWaiting(id, cancelView)),
      tap(() => unsettled.stop(id, exchanges.get(id).run)), // the run waits at the service, too
    );
    const answered = answers.pipe(
      startWith(undefined),
      // After `hasWaited`, another tab has resumed the run with its results: `resume` joins that run. So it does if
      // another device has answered: then nothing waits in what the service sends again.
      // Without an answer, a run that ends with the page would wait again.
      filter(() => {
        const exchange = exchanges.get(id);
        const mayResume = agent.join !== undefined || exchange.answers !== undefined;
        return lock.hasWaited || (mayResume && openCalls(exchange).length === 0);
      }),
    );
    const over = timeIsOver(() => exchanges.get(id), overdue);
    const continued = merge(
      answered,
      waitsNoMore(agent, () => exchanges.get(id).run, over, isSaved),
    ).pipe(map(() => resume(exchanges.get(id), stop, () => lock.release())));
    const locked = tools && callsOfPage(id).length > 0 ? lockCalls(tools, agent, exchanges.get(id).run, stop) : EMPTY;
    const executed = locked.pipe(
      tap((own) => (lock = own)),
      concatMap(({ hasWaited }) => (hasWaited ? EMPTY : executeHere(id, stop))),
    );
    return concat(executed, merge(stopped, continued).pipe(take(1), concatAll())).pipe(finalize(() => lock.release()));
  }

  /** Sends the answers to the calls of an exchange. While `isQuiet`, once, and shown when it has worked. */
  function resume(
    exchange: Exchange,
    stop: Observable<void>,
    onBegin?: () => void,
    isQuiet = false,
  ): Observable<unknown> {
    const { id, parent, checkpoint } = exchange;
    const view = answeredView(exchange);
    const run = followingId(exchange.run);
    const earlier = [...exchanges.path(parent), exchange].map(earlierRun);
    const options = { ...runOptions, id: run, earlier, ...answersTo(exchange), stop };
    const base: View = { ...view, status: 'waiting' }; // so that the run continues the answer that waited
    if (!isQuiet) update(id, { ...noticeOf(exchange), base, hasBegun: false, view: { ...view, status: 'sending' } });
    const send = () => agent.resume(checkpoint, options);
    return follow(id, run, base, stop, () => (isQuiet ? untilBroken(send()) : send()), onBegin);
  }

  function executeHere(id: string, stop: Observable<void>): Observable<unknown> {
    if (!tools) return EMPTY;
    const { cancel, context } = runOptions;
    const messages = exchanges.path(id).flatMap(historyOf);
    const calls = callsOfPage(id);
    return tools.execute(calls, { stop, cancel, context, messages }).pipe(
      tap((event) => isToolResult(event) && exchanges.addAnswer(id, answerOf(event))),
      toView(exchanges.get(id).view),
      calls.length > MANY_CALLS ? auditTime(calls.length * PAUSE) : identity,
      tap({
        next: (view) => update(id, { view }),
        complete: () => update(id, { view: { ...exchanges.get(id).view, status: 'waiting' } }),
      }),
    );
  }

  const callsOfPage = (id: string) => openCalls(exchanges.get(id)).filter((call) => isForPage(call, tools));

  function endWaiting(id: string, end: (view: View) => View): Observable<never> {
    update(id, { view: end(exchanges.get(id).view), checkpoint: undefined });
    return EMPTY;
  }

  return { wait, resume, answers };
}

/** A notice that an answer was refused is over when another one is sent. */
const noticeOf = ({ notice }: Exchange): Pick<Exchange, 'notice'> => ({
  notice: notice?.['code'] === 'not_answered' ? undefined : notice,
});

/** Waits until no other tab executes the calls of this page. A run that cannot be joined belongs to this one. */
const lockCalls = (
  tools: PageTools,
  agent: ConversationAgent,
  run: string,
  stop: Observable<void>,
): Observable<TabLock> => (agent.join ? tools.lock(run).pipe(take(1), takeUntil(stop)) : of(noLock));

/** Emits when the time of a question is over, by the clock of the page. */
const timeIsOver = (exchange: () => Exchange, overdue: Set<string>): Observable<unknown> =>
  defer(() => {
    const questions = openCalls(exchange()).filter((call) => !overdue.has(call.id));
    const ends = questions.map(({ id, question: { expires = Infinity } = {} }) =>
      after(Math.max(0, expires - asyncScheduler.now())).pipe(
        filter(() => asyncScheduler.now() >= expires),
        tap(() => overdue.add(id)),
      ),
    );
    return merge(...ends);
  });

/**
 * Emits when a run goes on without an answer of this conversation: another part of the page has answered, it does not
 * wait at the service, or the time of a question is over. A service, whose clock may differ, is asked: when the time is
 * over here, when a person comes back to the page, and at intervals.
 */
function waitsNoMore(
  agent: ConversationAgent,
  run: () => string,
  over: Observable<unknown>,
  isSaved: boolean,
): Observable<unknown> {
  if (!agent.join) return over;
  const here = resumedRuns.pipe(filter((id) => id === run()));
  if (!agent.waiting) return here;
  const looked = merge(awake(), interval(LOOK_AGAIN), over, isSaved ? [0] : []).pipe(
    switchMap(() => defer(() => agent.waiting?.() ?? EMPTY).pipe(catchError(() => EMPTY))), // the next look may work
    filter((runs) => runs.every(({ id, isOver }) => id !== run() || isOver)),
  );
  return merge(here, looked);
}

/** Whether a call that waits is executed in the page. A question is for the person, whatever the name of its call. */
export const isForPage = ({ name, question }: ToolCallView, tools: PageTools | undefined): boolean =>
  question === undefined && tools?.has(name) === true;

/** The events of a connection that is tried once: none if it breaks before the first one. */
export const untilBroken = (events: Observable<StreamEvent>): Observable<StreamEvent> =>
  events.pipe(takeWhile((event, index) => index > 0 || !isReconnecting(event)));

const answerOf = ({ id, result, error }: ToolResultEvent): CallAnswers =>
  error === undefined ? { results: { [id]: result } } : { errors: { [id]: error } };
