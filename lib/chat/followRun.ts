import { asyncScheduler, concat, defer, noop, switchMap, take, takeUntil, tap, timer } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { hasAnswer, pickAnswers, type CallAnswers } from '../core/approval.js';
import { isOfConnection, NOTICE_EVENT } from '../core/connectionEvents.js';
import { createOperator } from '../core/createOperator.js';
import { ConfigurationError } from '../core/errors.js';
import type { StreamEvent, TurnMessageEvent } from '../core/event.js';
import { isMessage, isResult } from '../core/eventGuards.js';
import { messagesOfFailed } from '../core/failedRun.js';
import { innermost } from '../core/nested.js';
import { isRecord, type JsonObject } from '../core/json/json.js';
import { resultsIn } from '../core/message.js';
import { noticeOf, type ConversationAgent } from './conversationAgent.js';
import type { Exchange } from './exchange.js';
import type { Exchanges } from './exchanges.js';
import type { PageTools } from './pageTools.js';
import { isOfPage, isRunNotFound, STOP_TIME, stoppedChange, type UnsettledRuns } from './unsettledRuns.js';
import { isForPage, type Follow } from './waitingRuns.js';
import { callsOf, changeCalls, failView, sendingView, shownMessages, type View } from '../operators/view/view.js';
import { createViewFold } from '../operators/view/viewFold.js';

/** A page is not suspended twice in so many milliseconds. */
const JOIN_INTERVAL = 30_000;

/** Creates what shows the events of a run in its exchange. `next`: the run is joined again, or its calls may wait. */
export function createFollow(
  agent: ConversationAgent,
  exchanges: Exchanges,
  tools: PageTools | undefined,
  unsettled: UnsettledRuns,
  update: (id: string, change: Partial<Exchange>) => void,
  joined: (prompt: string) => void,
  next: (exchange: Exchange, stop: Observable<void>) => Observable<unknown>,
): Follow {
  /** When each run was joined again, since its server could not continue after the last event. */
  const joins = new Map<string, number>();
  const mayJoinAgain = (run: string): boolean => {
    const last = joins.get(run) ?? -Infinity;
    joins.set(run, asyncScheduler.now());
    return asyncScheduler.now() - last > JOIN_INTERVAL; // otherwise, the run itself has failed so: it is lost
  };
  return (id, run, base, stop, events, onBegin = noop) => {
    const report = promptReporter(exchanges, id, joined);
    let isSent = false;
    let isStopped = false;
    const exchange = () => exchanges.get(id);
    const wasStopped = () => isStopped;
    // Without an answer, nothing is left to wait for; a local run, and one that has begun, may still end by itself.
    const left = stop.pipe(
      take(1),
      tap(() => {
        isStopped = true;
        if (isSent || exchange().hasBegun) unsettled.stop(id, run);
      }),
      switchMap(() => (agent.stop && !(exchange().hasBegun && isSent) ? [0] : timer(STOP_TIME))),
    );
    const lostBy = (): Partial<Exchange> => (agent.join && isSent ? { lost: { run, base } } : {});
    const received = defer(() => {
      isSent = true;
      return events();
    }).pipe(takeUntil(left));
    return concat(
      received.pipe(
        tap(report),
        toChanges(
          base,
          exchange,
          wasStopped,
          lostBy,
          (thrown) => (run === exchange().run ? undefined : afterRefusal(exchange(), base, tools, thrown)),
          () => mayJoinAgain(run),
        ),
        tap((change) => {
          // The answers were given to the run before this one.
          const isNext = change.hasBegun && !change.run && run !== exchange().run;
          const isNew = change.lost && !exchange().lost;
          const isBefore = 'base' in change && run !== exchange().run; // the run that has waited has begun
          update(id, { ...change, ...(isBefore && { hasBegun: true }), ...(isNext && { run, answers: undefined }) });
          if (change.hasBegun) onBegin();
          if (isNew) unsettled.added(id);
        }),
      ),
      defer(() => next(exchange(), stop)),
    );
  };
}

/** Reports the prompts that join a run. A question may be asked again. */
function promptReporter(exchanges: Exchanges, id: string, joined: (prompt: string) => void) {
  return (event: StreamEvent): void => {
    const asked = innermost(event);
    // The run has the answer, or asks again.
    if (asked.type === 'toolResult' || (asked.type === 'toolWaiting' && asked.question?.problem)) {
      const { answers } = exchanges.get(id);
      if (answers) exchanges.update(id, { answers: pickAnswers(answers, (other) => other !== asked.id) });
    }
    const prompt = isPrompt(event) ? event.message.id : undefined;
    const { joined: known = [] } = exchanges.get(id);
    if (prompt === undefined || known.includes(prompt)) return;
    exchanges.update(id, { joined: [...known, prompt] });
    joined(prompt);
  };
}

/**
 * Converts the events of a run, which started from `base`, to changes of its exchange; it never fails. The last change
 * has all that the run has left, and `lost` if the rest of it may be at a server. It is missing, so that the run is
 * joined again, if the server cannot continue after the last event: the page was suspended for too long. A run that
 * fails before its first event leaves what is shown. `refused` says what is left of answers that have failed so.
 */
function toChanges(
  base: View,
  exchange: () => Exchange,
  isStopped: () => boolean,
  lostBy: () => Partial<Exchange>,
  refused: (thrown: unknown) => ReturnType<typeof afterRefusal>,
  mayJoinAgain: () => boolean,
): OperatorFunction<StreamEvent, Partial<Exchange>> {
  return createOperator<StreamEvent, Partial<Exchange>>((out) => {
    const fold = createViewFold(base);
    let view = fold.start;
    let hasBegun = false;
    let isOver = false;
    const end = (change: Partial<Exchange>) => {
      isOver = true;
      out.next({ lost: undefined, ...change, base: undefined });
    };
    const fail = (thrown: unknown) => {
      const { view: shown, hasBegun: hadBegun, lost } = exchange();
      const left = hasBegun ? undefined : refused(thrown);
      if (typeof left === 'object') {
        end(left);
        return;
      }
      view = fold.fail(thrown);
      // A prompt that did not arrive: the first error says why.
      const isUnsent = !hadBegun && isRunNotFound(thrown) && shown.error;
      if (!hasBegun) view = failView(shown, isUnsent ? shown.error : view.error);
      const isOpen = hadBegun === true || lost !== undefined || !(statusOf(thrown) < 500);
      const isAway = left ? left === 'kept' : isOfPage(thrown) && isOpen;
      end({ view, messages: messagesOfFailed(thrown) ?? shownMessages(view), ...(isAway ? lostBy() : {}) });
    };
    return {
      next(event) {
        if (event.type === NOTICE_EVENT) {
          const { notice, refused: taken } = event as NoticeEvent;
          const { answers } = exchange();
          const rest = taken && answers && { answers: pickAnswers(answers, (id) => !hasAnswer(taken, id)) };
          out.next({ notice, ...rest });
          return;
        }
        const before = view;
        view = fold.add(event);
        if (!hasBegun && !isOfConnection(event)) {
          hasBegun = true;
          const shown = view === before ? sendingView(view) : view;
          out.next({ hasBegun, ...(exchange().base ? {} : { base, lost: undefined, view: shown }) });
        }
        if (isResult(event)) {
          const { messages, checkpoint } = event.result;
          const { notice } = exchange();
          const kept = notice?.['code'] === 'omitted' ? notice : undefined; // the others are about the connection
          end({ view, messages, checkpoint, stopping: undefined, notice: kept });
        } else if (view !== before) out.next({ view });
      },
      error(thrown) {
        const messages = messagesOfFailed(thrown);
        if (isStopped() && !isOver)
          end({ ...stoppedChange(exchange().view), ...(messages ? { messages } : {}), ...lostBy() });
        else if (!isOver && !(hasBegun && isRunNotFound(thrown) && mayJoinAgain())) fail(thrown);
        out.complete();
      },
      complete() {
        const { view: shown, lost } = exchange();
        if (isStopped() && !isOver) end({ ...stoppedChange(shown), ...lostBy() });
        else if (!isOver && !lost) end({ view: failView(shown), messages: shownMessages(shown) }); // without a result
        out.complete();
      },
    };
  });
}

const isPrompt = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && event.message.role === 'user' && resultsIn(event.message).length === 0;

/** `refused`: answers to a run that still goes on, which are not sent again. */
type NoticeEvent = StreamEvent & { readonly notice: JsonObject; readonly refused?: CallAnswers };

const statusOf = (thrown: unknown): number => (isRecord(thrown) ? Number(thrown['status']) : NaN);

/** What a service says of a run that waits no longer. Without such a word, it waits, whoever has refused an answer. */
const ends: readonly unknown[] = ['run_not_found', 'not_waiting', 'run_dead'];

/** The answers are refused for what they are. After any other status, the same ones are sent again. */
const misfits = [400, 409, 413, 415, 422];

/** What is left of answers: nothing (`over`), `kept` ones, or calls that wait for others. Undefined: not known. */
function afterRefusal(
  { run, answers = {} }: Exchange,
  base: View,
  tools: PageTools | undefined,
  thrown: unknown,
): 'over' | 'kept' | Partial<Exchange> | undefined {
  const { code, providerCode, name } = isRecord(thrown) ? thrown : {};
  if (ends.includes(providerCode ?? code)) return 'over';
  const isMisfit = thrown instanceof ConfigurationError || (isOfPage(thrown) && misfits.includes(statusOf(thrown)));
  if (!isMisfit) return isOfPage(thrown) || name === 'RemoteRunError' ? 'kept' : undefined;
  const given = callsOf(base).filter((call) => hasAnswer(answers, call.id) && !isForPage(call, tools));
  const isGiven = (id: string) => given.some((call) => call.id === id);
  // A tool of the page would answer the same. After 409, another state of the run or the service may accept it.
  if (given.length === 0) return statusOf(thrown) === 409 ? 'kept' : 'over';
  const view = changeCalls(base, (call) => (isGiven(call.id) ? { ...call, status: 'waiting' } : call));
  const rest = pickAnswers(answers, (id) => !isGiven(id));
  return { run, view, answers: rest, hasBegun: true, notice: noticeOf('not_answered', thrown) };
}
