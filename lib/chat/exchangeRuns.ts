import { concat, defer, EMPTY, merge, noop, Subject, switchMap, take, takeUntil, takeWhile, tap, timer } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { isOfConnection, isReconnecting } from '../core/connectionEvents.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, TurnMessageEvent } from '../core/event.js';
import { isMessage, isResult } from '../core/eventGuards.js';
import { messagesOfFailed } from '../core/failedRun.js';
import type { Input } from '../core/input.js';
import { isRecord } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import { hasToolResults } from '../core/message.js';
import type { Message } from '../core/message.js';
import { NOTICE_EVENT } from './conversationAgent.js';
import type { ConversationAgent } from './conversationAgent.js';
import { earlierRun, historyOf } from './exchanges.js';
import type { Exchange, Exchanges } from './exchanges.js';
import type { PageTools } from './pageTools.js';
import { createUnsettledRuns, isOfPage, isRunNotFound } from './unsettledRuns.js';
import { createWaitingRuns } from './waitingRuns.js';
import type { Follow } from './waitingRuns.js';
import { cancelView, failView, sendingView, shownMessages, viewOf, waitAgain } from '../operators/view/view.js';
import type { View } from '../operators/view/view.js';
import { createViewFold } from '../operators/view/viewFold.js';

/** The options for the runs of a conversation. */
export interface ExchangeRunOptions {
  /** Tools that are executed here when a run waits for their result, made by `pageTools`. Default: none. */
  readonly tools?: PageTools | undefined;
  /** The option `context` of each run, for a local agent. Default: undefined. */
  readonly context?: unknown;
}

/** How long a run that was stopped may take to end by itself, in milliseconds. */
const STOP_TIME = 1000;

/**
 * The runs of the exchanges of a conversation. `changed` is called after each change of an exchange, and `joined` with
 * the message of a prompt that has joined a run.
 */
export function createExchangeRuns(
  agent: ConversationAgent,
  exchanges: Exchanges,
  { tools, context }: ExchangeRunOptions,
  changed: () => void,
  joined: (message: Message) => void,
) {
  const prompts = new Subject<Input>();
  const cancel = new Subject<string>();
  const reconnect = new Subject<void>();
  const runOptions = { cancel, prompts, reconnect, fragments: true as const, context };
  const waitingRuns = createWaitingRuns(agent, exchanges, tools, runOptions, update, follow);
  const unsettled = createUnsettledRuns(agent, exchanges, update);

  function start({ id, parent, run, input }: Exchange, stop: Observable<void>): Observable<unknown> {
    const base = viewOf(input);
    update(id, { base, hasBegun: false, view: { ...base, status: 'sending' } });
    const send = () => {
      const path = exchanges.path(parent);
      const options = { ...runOptions, id: run, earlier: path.map(earlierRun), history: path.flatMap(historyOf), stop };
      return agent.stream(input, options);
    };
    // What the model reads is what the person sees: the rest of a lost answer arrives before the next prompt is sent.
    const lost = exchanges.path(parent).filter(isLost);
    return concat(...lost.map((exchange) => joinLost(exchange.id, stop, true)), follow(id, run, base, stop, send));
  }

  /** Joins a run that does not end with this page. Of any other one, what was shown becomes a part of the history. */
  function join({ id, run, base, view }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!agent.join) {
      exchanges.update(id, { view: failView(view), messages: shownMessages(view), base: undefined });
      return EMPTY;
    }
    update(id, { view: { ...view, status: 'sending' } });
    return follow(id, run, base ?? view, stop, () => agent.join?.(run, { ...runOptions, stop }) ?? EMPTY);
  }

  /** Joins a run that the page has given up. While `isQuiet`, it is tried once, and shown when it has worked. */
  function joinLost(id: string, stop: Observable<void>, isQuiet: boolean): Observable<unknown> {
    return defer(() => {
      const exchange = exchanges.get(id);
      const { lost, view, run } = exchange;
      if (!lost || !isLost(exchange)) return EMPTY;
      if (!isQuiet) update(id, { view: sendingView(view) });
      // A decision that did not arrive is sent again: the service uses it once.
      if (lost.run !== run) return isQuiet ? EMPTY : waitingRuns.resume({ ...exchange, view: lost.base }, stop);
      return follow(id, run, lost.base, stop, () => {
        const events = agent.join?.(run, { ...runOptions, stop }) ?? EMPTY;
        return isQuiet ? events.pipe(takeWhile((event, index) => index > 0 || !isReconnecting(event))) : events;
      });
    });
  }

  function follow(...[id, run, base, stop, events, onBegin = noop]: Parameters<Follow>): Observable<unknown> {
    const report = promptReporter(exchanges, id, joined);
    let isSent = false;
    let isStopped = false;
    // Without an answer, nothing is left to wait for; a local run, and one that has begun, may still end by itself.
    const left = stop.pipe(
      take(1),
      tap(() => {
        isStopped = true;
        if (isSent) unsettled.stop(id, run);
      }),
      switchMap(() => (agent.stop && !(exchanges.get(id).hasBegun && isSent) ? [0] : timer(STOP_TIME))),
    );
    const lostBy = (): Partial<Exchange> => (agent.join && isSent ? { lost: { run, base } } : {});
    return concat(
      defer(() => {
        isSent = true;
        return events();
      }).pipe(
        takeUntil(left),
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
        return exchange.base ? join(exchange, stop) : waitingRuns.wait(id, stop);
      }),
    );
  }

  /** Continues an exchange of a saved conversation. A request that may not have arrived is sent again. */
  const continueExchange = (id: string, stop: Observable<void>): Observable<unknown> =>
    defer(() => {
      const exchange = exchanges.get(id);
      const { base, hasBegun, view, run, stopping } = exchange;
      if (base && stopping) {
        update(id, { ...stoppedChange(view), lost: { run, base } });
        return EMPTY;
      }
      if (!base) {
        update(id, { view: waitAgain(view) });
        return waitingRuns.wait(id, stop);
      }
      if (!agent.join || hasBegun) return join(exchange, stop);
      return exchange.answers ? waitingRuns.resume({ ...exchange, view: base }, stop) : start(exchange, stop);
    });

  function update(id: string, change: Partial<Exchange>): void {
    exchanges.update(id, change);
    changed();
  }

  return {
    start,

    answer(callId: string, answer: CallAnswers): void {
      exchanges.answer(callId, answer);
      changed();
      waitingRuns.answers.next();
    },

    /** Offers a prompt to the run that is executed. Returns whether there is one that has not ended. */
    offer(input: Input): boolean {
      const isTaken = prompts.observed;
      prompts.next(input);
      return isTaken;
    },

    cancel: (callId: string): void => cancel.next(callId),

    joinLost,

    /** Ends the delay before a connection is opened again. */
    reconnect(): void {
      reconnect.next();
      unsettled.again();
    },

    /** Tells the service of the stops that it has not received, and calls `joinAgain` when lost runs may be there. */
    settle: unsettled.run,

    /** Continues the open exchanges of a saved conversation: those of a branch in order, and branches at once. */
    continueSaved: (stop: Observable<void>): Observable<unknown> => {
      const open = exchanges.open();
      const firstOpen = ({ id }: Exchange) => exchanges.path(id).find((exchange) => open.includes(exchange));
      const branches = open.map((first) => open.filter((exchange) => firstOpen(exchange) === first));
      return merge(...branches.map((branch) => concat(...branch.map(({ id }) => continueExchange(id, stop)))));
    },
  };
}

/** Reports the prompts that join a run, once: a run that is joined again emits its earlier prompts again. */
function promptReporter(exchanges: Exchanges, id: string, joined: (message: Message) => void) {
  let prompted = 0;
  return (event: StreamEvent): void => {
    if (!isPrompt(event) || ++prompted <= (exchanges.get(id).prompted ?? 0)) return;
    exchanges.update(id, { prompted });
    joined(event.message);
  };
}

/** Whether the page has given up the run of an exchange. */
export const isLost = ({ lost, view }: Exchange): boolean => lost !== undefined && view.status === 'failed';

const stoppedChange = (view: View): Partial<Exchange> => ({
  view: cancelView(view),
  messages: shownMessages(view),
  base: undefined,
});

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
      const { view: shown, hasBegun: hadBegun, lost } = exchange();
      view = fold.fail(thrown);
      // A prompt that did not arrive: the first error says why.
      const isUnsent = !hadBegun && isRunNotFound(thrown) && shown.error;
      if (!hasBegun) view = failView(shown, isUnsent ? shown.error : view.error);
      const isAway = isOfPage(thrown) && (hadBegun === true || lost !== undefined || !isRefusal(thrown));
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
          end({ view, messages, checkpoint, stopping: undefined, notice: undefined });
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
  isMessage(event) && event.message.role === 'user' && !hasToolResults(event.message);

/** Whether the service, or what stands before it, has not taken a request. */
const isRefusal = (thrown: unknown): boolean =>
  isRecord(thrown) && typeof thrown['status'] === 'number' && thrown['status'] < 500;
