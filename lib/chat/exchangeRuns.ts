import {
  concat,
  concatAll,
  concatMap,
  defer,
  EMPTY,
  filter,
  finalize,
  map,
  merge,
  noop,
  of,
  startWith,
  Subject,
  take,
  takeUntil,
  tap,
} from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, ToolResultEvent, TurnMessageEvent } from '../core/event.js';
import { isMessage, isResult, isToolResult } from '../core/eventGuards.js';
import { messagesOfFailed } from '../core/failedRun.js';
import type { Input } from '../core/input.js';
import { isRecord } from '../core/json/json.js';
import { hasToolResults } from '../core/message.js';
import type { Message } from '../core/message.js';
import { followingId } from '../transport/randomId.js';
import type { ConversationAgent } from './conversationAgent.js';
import { answeredView, earlierRun, historyOf } from './exchanges.js';
import type { Exchange, Exchanges } from './exchanges.js';
import type { PageTools } from './pageTools.js';
import type { TabLock } from './tabLock.js';
import { isReconnecting } from '../core/connectionEvents.js';
import { toView } from '../operators/toView.js';
import { cancelView, failView, shownMessages, viewOf, waitAgain } from '../operators/view/view.js';
import type { View } from '../operators/view/view.js';
import { createViewFold } from '../operators/view/viewFold.js';

/** The options for the runs of a conversation. */
export interface ExchangeRunOptions {
  /** Tools that are executed here when a run waits for their result, made by `pageTools`. Default: none. */
  readonly tools?: PageTools | undefined;
  /** The option `context` of each run, for a local agent. Default: undefined. */
  readonly context?: unknown;
}

const noLock: TabLock = { hasWaited: false, release: noop };

/**
 * The runs of the exchanges of a conversation: their start, their end, and the time while they wait.
 *
 * @param changed Called after each change of an exchange.
 * @param joined Called with the message of a prompt that has joined a run.
 */
export function createExchangeRuns(
  agent: ConversationAgent,
  exchanges: Exchanges,
  { tools, context }: ExchangeRunOptions,
  changed: () => void,
  joined: (message: Message) => void,
) {
  /** Prompts for the run that is executed. */
  const prompts = new Subject<Input>();
  /** Emits after an answer to a waiting call. */
  const answers = new Subject<void>();
  /** The ids of the calls that the user cancels. */
  const cancel = new Subject<string>();

  /** Starts the run of an exchange. */
  function start({ id, parent, run, input }: Exchange, stop: Observable<void>): Observable<unknown> {
    const base = viewOf(input);
    const path = exchanges.path(parent);
    const options = { id: run, earlier: path.map(earlierRun), history: path.flatMap(historyOf), ...optionsOf(stop) };
    update(id, { base, hasBegun: false, view: { ...base, status: 'sending' } });
    return follow(id, base, run, stop, () => agent.stream(input, options));
  }

  /** Continues an exchange whose calls have answers. */
  function resume(exchange: Exchange, stop: Observable<void>, onBegin?: () => void): Observable<unknown> {
    const { id, parent, run, checkpoint } = exchange;
    const view = answeredView(exchange);
    const nextRun = followingId(run);
    const earlier = [...exchanges.path(parent), exchange].map(earlierRun);
    const options = { id: nextRun, earlier, ...exchange.answers, ...optionsOf(stop) };
    const base: View = { ...view, status: 'waiting' }; // so that the run continues the answer that waited
    update(id, { base, hasBegun: false, view: { ...view, status: 'sending' } });
    return follow(id, base, nextRun, stop, () => agent.resume(checkpoint, options), onBegin);
  }

  /** Joins a run that does not end with this page. */
  function join({ id, run, base, view }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!agent.join) {
      exchanges.interrupt(id);
      return EMPTY;
    }
    update(id, { view: { ...view, status: 'sending' } });
    return follow(id, base ?? view, run, stop, () => agent.join?.(run, { stop, cancel, prompts }) ?? EMPTY);
  }

  const optionsOf = (stop: Observable<void>) => ({ stop, cancel, prompts, fragments: true as const, context });

  /** Shows the events of a run in its exchange. */
  function follow(
    id: string,
    base: View,
    run: string,
    stop: Observable<void>,
    events: () => Observable<StreamEvent>,
    onBegin = noop,
  ): Observable<unknown> {
    /** The answers were given to the run before this one. */
    const begun = (): Partial<Exchange> =>
      run === exchanges.get(id).run ? {} : { run, answers: undefined, prompted: undefined };
    /** A run that is joined again emits its earlier prompts again. */
    let prompted = 0;
    const addPrompt = (message: Message) => {
      if (++prompted <= (exchanges.get(id).prompted ?? 0)) return;
      exchanges.update(id, { prompted });
      joined(message);
    };
    return concat(
      defer(events).pipe(
        tap((event) => isPrompt(event) && addPrompt(event.message)),
        toChanges(base, () => exchanges.get(id).view),
        tap((change) => {
          update(id, change.hasBegun ? { ...change, ...begun() } : change);
          if (change.hasBegun) onBegin();
        }),
      ),
      defer(() => {
        const exchange = exchanges.get(id);
        return exchange.base ? join(exchange, stop) : waitForAnswers(id, stop);
      }),
    );
  }

  /** If the run of an exchange waits, executes the calls that belong to this page, and waits for the user's answers. */
  function waitForAnswers(id: string, stop: Observable<void>): Observable<unknown> {
    if (exchanges.get(id).view.status !== 'waiting') return EMPTY;
    let lock = noLock;
    const stopped = stop.pipe(map(() => cancelWaiting(id)));
    const answered = answers.pipe(
      startWith(undefined),
      // After `hasWaited`, another tab has resumed the run with its results: `resume` joins that run.
      filter(() => lock.hasWaited || exchanges.isAnswered(id)),
      map(() => resume(exchanges.get(id), stop, () => lock.release())),
    );
    const executed = lockTab(id, stop).pipe(
      tap((own) => (lock = own)),
      concatMap(({ hasWaited }) => (hasWaited ? EMPTY : executeHere(id, stop))),
    );
    return concat(executed, merge(stopped, answered).pipe(take(1), concatAll())).pipe(finalize(() => lock.release()));
  }

  /** Waits until no other tab executes the calls of this page. A run that cannot be joined belongs to this one. */
  function lockTab(id: string, stop: Observable<void>): Observable<TabLock> {
    if (!tools || callsOfPage(id).length === 0) return EMPTY;
    if (!agent.join) return of(noLock);
    return tools.lock(exchanges.get(id).run).pipe(take(1), takeUntil(stop));
  }

  const callsOfPage = (id: string) => exchanges.openCalls(id).filter(({ name }) => isExecutedHere(name));

  function executeHere(id: string, stop: Observable<void>): Observable<unknown> {
    if (!tools) return EMPTY;
    const messages = exchanges.path(id).flatMap(historyOf);
    return concat(
      tools.execute(callsOfPage(id), { stop, cancel, context, messages }).pipe(
        tap((event) => isToolResult(event) && exchanges.addAnswer(id, event.id, answerOf(event))),
        toView(exchanges.get(id).view),
        tap((view) => update(id, { view })),
      ),
      defer(() => {
        update(id, { view: { ...exchanges.get(id).view, status: 'waiting' } });
        return EMPTY;
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
        return waitForAnswers(id, stop);
      }
      if (!agent.join || hasBegun) return join(exchange, stop);
      return exchange.answers ? resume({ ...exchange, view: base }, stop) : start(exchange, stop);
    });

  /** Whether a call is executed in this page. */
  const isExecutedHere = (name: string): boolean => tools?.has(name) ?? false;

  function cancelWaiting(id: string): Observable<never> {
    update(id, { view: cancelView(exchanges.get(id).view), checkpoint: undefined });
    return EMPTY;
  }

  function update(id: string, change: Partial<Exchange>): void {
    exchanges.update(id, change);
    changed();
  }

  return {
    start,
    isExecutedHere,

    /** Adds the user's answer to a waiting call. */
    answer(callId: string, answer: CallAnswers): void {
      exchanges.answer(callId, answer);
      changed();
      answers.next();
    },

    /** Offers a prompt to the run that is executed. Returns whether there is one that has not ended. */
    offer(input: Input): boolean {
      const isTaken = prompts.observed;
      prompts.next(input);
      return isTaken;
    },

    /** Cancels a call that runs. */
    cancel(callId: string): void {
      cancel.next(callId);
    },

    /** Continues the open exchanges of a saved conversation: those of a branch in order, and branches at once. */
    continueSaved: (stop: Observable<void>): Observable<unknown> => {
      const open = exchanges.open();
      const firstOpen = ({ id }: Exchange) => exchanges.path(id).find((exchange) => open.includes(exchange));
      const branches = open.map((first) => open.filter((exchange) => firstOpen(exchange) === first));
      return merge(...branches.map((branch) => concat(...branch.map(({ id }) => continueExchange(id, stop)))));
    },
  };
}

/** The result of a call, or the error of its tool, as an answer for `resume`. */
const answerOf = ({ id, result, error }: ToolResultEvent): CallAnswers =>
  error === undefined ? { results: { [id]: result } } : { errors: { [id]: error } };

/**
 * Converts the events of a run to changes of its exchange. The last change contains all that the run has left, so that
 * the saved exchange is complete.
 *
 * @param base The view from which the run started.
 * @param shown Returns the current view of the exchange. A run that fails before its first event leaves it.
 * @returns A function that returns an Observable of changes. It does not fail. It completes without a last change if
 * the server cannot continue after the last event, because the page was suspended for too long: join the run again.
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

/** Whether an event is the message of a prompt that has joined a run. */
const isPrompt = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && event.message.role === 'user' && !hasToolResults(event.message);

const isRunNotFound = (thrown: unknown): boolean => isRecord(thrown) && thrown['code'] === 'run_not_found';
