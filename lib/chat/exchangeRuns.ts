import { concat, defer, EMPTY, merge, noop, Subject, tap } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { isReconnecting } from '../core/connectionEvents.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, TurnMessageEvent } from '../core/event.js';
import { isMessage, isResult } from '../core/eventGuards.js';
import { messagesOfFailed } from '../core/failedRun.js';
import type { Input } from '../core/input.js';
import { isRecord } from '../core/json/json.js';
import { hasToolResults } from '../core/message.js';
import type { Message } from '../core/message.js';
import type { ConversationAgent } from './conversationAgent.js';
import { earlierRun, historyOf } from './exchanges.js';
import type { Exchange, Exchanges } from './exchanges.js';
import type { PageTools } from './pageTools.js';
import { createWaitingRuns } from './waitingRuns.js';
import type { Follow } from './waitingRuns.js';
import { failView, shownMessages, viewOf, waitAgain } from '../operators/view/view.js';
import type { View } from '../operators/view/view.js';
import { createViewFold } from '../operators/view/viewFold.js';

/** The options for the runs of a conversation. */
export interface ExchangeRunOptions {
  /** Tools that are executed here when a run waits for their result, made by `pageTools`. Default: none. */
  readonly tools?: PageTools | undefined;
  /** The option `context` of each run, for a local agent. Default: undefined. */
  readonly context?: unknown;
}

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
  const runOptions = { cancel, prompts, fragments: true as const, context };
  const waitingRuns = createWaitingRuns(agent, exchanges, tools, runOptions, update, follow);

  function start({ id, parent, run, input }: Exchange, stop: Observable<void>): Observable<unknown> {
    const base = viewOf(input);
    const path = exchanges.path(parent);
    const options = { ...runOptions, id: run, earlier: path.map(earlierRun), history: path.flatMap(historyOf), stop };
    update(id, { base, hasBegun: false, view: { ...base, status: 'sending' } });
    return follow(id, run, base, stop, () => agent.stream(input, options));
  }

  /** Joins a run that does not end with this page. Of any other one, what was shown becomes a part of the history. */
  function join({ id, run, base, view }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!agent.join) {
      exchanges.update(id, { view: failView(view), messages: shownMessages(view), base: undefined });
      return EMPTY;
    }
    update(id, { view: { ...view, status: 'sending' } });
    return follow(id, run, base ?? view, stop, () => agent.join?.(run, { stop, cancel, prompts }) ?? EMPTY);
  }

  function follow(...[id, run, base, stop, events, onBegin = noop]: Parameters<Follow>): Observable<unknown> {
    const report = promptReporter(exchanges, id, joined);
    return concat(
      defer(events).pipe(
        tap(report),
        toChanges(base, () => exchanges.get(id).view),
        tap((change) => {
          // The answers were given to the run before this one.
          const isNext = change.hasBegun && run !== exchanges.get(id).run;
          update(id, { ...change, ...(isNext ? { run, answers: undefined, prompted: undefined } : {}) });
          if (change.hasBegun) onBegin();
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
      const { base, hasBegun, view } = exchange;
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

/**
 * Converts the events of a run, which started from `base`, to changes of its exchange; it never fails. The last change
 * has all that the run has left. It is missing, so that the run is joined again, if the server cannot continue after
 * the last event: the page was suspended for too long. A run that fails before its first event leaves what is `shown`.
 */
function toChanges(base: View, shown: () => View): OperatorFunction<StreamEvent, Partial<Exchange>> {
  return createOperator<StreamEvent, Partial<Exchange>>((out) => {
    const fold = createViewFold(base);
    let view = fold.start;
    let hasBegun = false;
    let isOver = false;
    const end = (change: Partial<Exchange>) => {
      isOver = true;
      out.next({ ...change, base: undefined });
    };
    return {
      next(event) {
        const before = view;
        view = fold.add(event);
        if (!hasBegun && !isReconnecting(event)) {
          hasBegun = true;
          out.next({ hasBegun });
        }
        if (isResult(event)) {
          const { messages, checkpoint } = event.result;
          end({ view, messages, checkpoint });
        } else if (view !== before) out.next({ view });
      },
      error(thrown) {
        if (!isOver && !(hasBegun && isRunNotFound(thrown))) {
          view = fold.fail(thrown);
          if (!hasBegun) view = failView(shown(), view.error);
          end({ view, messages: messagesOfFailed(thrown) ?? shownMessages(view) });
        }
        out.complete();
      },
      complete() {
        if (!isOver) end({ view: failView(shown()), messages: shownMessages(shown()) }); // it ended without a result
        out.complete();
      },
    };
  });
}

const isPrompt = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && event.message.role === 'user' && !hasToolResults(event.message);

const isRunNotFound = (thrown: unknown): boolean => isRecord(thrown) && thrown['code'] === 'run_not_found';
