import { concat, defer, noop, switchMap, take, takeUntil, tap, timer } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { pickAnswers } from '../core/approval.js';
import { isOfConnection, NOTICE_EVENT } from '../core/connectionEvents.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, TurnMessageEvent } from '../core/event.js';
import { isMessage, isResult } from '../core/eventGuards.js';
import { messagesOfFailed } from '../core/failedRun.js';
import { innermost } from '../core/nested.js';
import { isRecord, type JsonObject } from '../core/json/json.js';
import { resultsIn, type Message } from '../core/message.js';
import type { ConversationAgent } from './conversationAgent.js';
import type { Exchange, Exchanges } from './exchanges.js';
import { isOfPage, isRunNotFound, stoppedChange, type UnsettledRuns } from './unsettledRuns.js';
import type { Follow } from './waitingRuns.js';
import { failView, sendingView, shownMessages, type View } from '../operators/view/view.js';
import { createViewFold } from '../operators/view/viewFold.js';

/** How long a run that was stopped may take to end by itself, in milliseconds. */
const STOP_TIME = 1000;

type NextStep<T> = (next: T, stop: Observable<void>) => Observable<unknown>;

/** Creates what shows the events of a run in its exchange. Then the run is joined again, or its calls may wait. */
export function createFollow(
  agent: ConversationAgent,
  exchanges: Exchanges,
  unsettled: UnsettledRuns,
  update: (id: string, change: Partial<Exchange>) => void,
  joined: (message: Message) => void,
  joinAgain: NextStep<Exchange>,
  wait: NextStep<string>,
): Follow {
  return (id, run, base, stop, events, onBegin = noop) => {
    const report = promptReporter(exchanges, id, joined);
    let isSent = false;
    let isStopped = false;
    // Without an answer, nothing is left to wait for; a local run, and one that has begun, may still end by itself.
    const left = stop.pipe(
      take(1),
      tap(() => {
        isStopped = true;
        if (isSent || exchanges.get(id).hasBegun) unsettled.stop(id, run);
      }),
      switchMap(() => (agent.stop && !(exchanges.get(id).hasBegun && isSent) ? [0] : timer(STOP_TIME))),
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
          () => exchanges.get(id),
          () => isStopped,
          lostBy,
        ),
        tap((change) => {
          // The answers were given to the run before this one.
          const isNext = change.hasBegun && run !== exchanges.get(id).run;
          const isNew = change.lost && !exchanges.get(id).lost;
          update(id, { ...change, ...(isNext ? { run, answers: undefined, prompted: undefined } : {}) });
          if (change.hasBegun) onBegin();
          if (isNew) unsettled.added(id);
        }),
      ),
      defer(() => {
        const exchange = exchanges.get(id);
        return exchange.base ? joinAgain(exchange, stop) : wait(id, stop);
      }),
    );
  };
}

/** Reports the prompts that join a run, once, also if it is joined again. A question may be asked again. */
function promptReporter(exchanges: Exchanges, id: string, joined: (message: Message) => void) {
  let prompted = 0;
  return (event: StreamEvent): void => {
    const asked = innermost(event);
    // The run has the answer, or asks again.
    if (asked.type === 'toolResult' || (asked.type === 'toolWaiting' && asked.question?.problem)) {
      const { answers } = exchanges.get(id);
      if (answers) exchanges.update(id, { answers: pickAnswers(answers, (other) => other !== asked.id) });
    }
    if (!isPrompt(event) || ++prompted <= (exchanges.get(id).prompted ?? 0)) return;
    exchanges.update(id, { prompted });
    joined(event.message);
  };
}

/**
 * Converts the events of a run, which started from `base`, to changes of its exchange; it never fails. The last change
 * has all that the run has left, and `lost` if the rest of it may be at a server. It is missing, so that the run is
 * joined again, if the server cannot continue after the last event: the page was suspended for too long. A run that
 * fails before its first event leaves what is shown.
 */
function toChanges(
  base: View,
  exchange: () => Exchange,
  isStopped: () => boolean,
  lostBy: () => Partial<Exchange>,
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
      const { view: shown, hasBegun: hadBegun, lost, answers } = exchange();
      view = fold.fail(thrown);
      // A prompt that did not arrive: the first error says why.
      const isUnsent = !hadBegun && isRunNotFound(thrown) && shown.error;
      if (!hasBegun) view = failView(shown, isUnsent ? shown.error : view.error);
      const isAway = isOfPage(thrown) && (hadBegun === true || lost !== undefined || !isRefusal(thrown, answers));
      end({ view, messages: messagesOfFailed(thrown) ?? shownMessages(view), ...(isAway ? lostBy() : {}) });
    };
    return {
      next(event) {
        if (event.type === NOTICE_EVENT) {
          out.next({ notice: (event as StreamEvent & { readonly notice: JsonObject }).notice });
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
        else if (!isOver && !(hasBegun && isRunNotFound(thrown))) fail(thrown);
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

/** Whether the service, or what stands before it, has not taken a request. Answers wait for a sign-in, or for room. */
const isRefusal = (thrown: unknown, answers?: object): boolean => {
  const status = isRecord(thrown) ? Number(thrown['status']) : NaN;
  return status < 500 && !(answers && [401, 403, 429].includes(status));
};
