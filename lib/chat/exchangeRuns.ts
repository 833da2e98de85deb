import { concat, defer, EMPTY, map, merge, noop, Subject, timer, type Observable } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { optionsError } from '../core/errors.js';
import { messagesOf, type Input } from '../core/input.js';
import type { RunOptions } from '../agent/runOptions.js';
import { followingId } from '../transport/randomId.js';
import type { QueuedPrompt, WhenBusy } from './commandQueue.js';
import type { ConversationAgent } from './conversationAgent.js';
import { isResumed, type Exchange } from './exchange.js';
import { earlierRun, historyOf, isLost, lostOf, type Exchanges } from './exchanges.js';
import { createFollow } from './followRun.js';
import { createJoins } from './joinRuns.js';
import type { PageTools } from './pageTools.js';
import { createUnsettledRuns, stoppedChange } from './unsettledRuns.js';
import { createWaitingRuns, isForPage } from './waitingRuns.js';
import { viewOf, waitAgain } from '../operators/view/view.js';

/** The options for the runs of a conversation. */
export interface ExchangeRunOptions {
  /**
   * How a prompt that arrives during a run is handled. `concat`: it waits for the end of the run; `switch`: the run is
   * stopped, and keeps what it has; `exhaust`: it is dropped; `merge`: it joins the run at the end of the turn, as a
   * message of the user within the answer, or waits if that is too late. Default: `concat`.
   */
  readonly whenBusy?: WhenBusy | undefined;
  /** Tools that are executed here when a run waits for their result, made by `pageTools`. Default: none. */
  readonly tools?: PageTools | undefined;
  /** The option `context` of each run, for a local agent. Default: undefined. */
  readonly context?: unknown;
  /**
   * The option `wrapTurn` of each run, for a local agent: `omitRefused` leaves out what the provider has refused once.
   * A service does so by default. Default: none.
   */
  readonly wrapTurn?: RunOptions['wrapTurn'];
}

/** `changed` is called after each change of an exchange, `joined` with the id of a prompt that has joined a run. */
export function createExchangeRuns(
  agent: ConversationAgent,
  exchanges: Exchanges,
  { tools, context, whenBusy, wrapTurn }: ExchangeRunOptions,
  changed: () => void,
  joined: (prompt: string) => void,
) {
  requirePageTools(tools);
  const prompts = new Subject<Input>();
  const cancel = new Subject<string>();
  const reconnect = new Subject<void>();
  const given = new Subject<CallAnswers>();
  const runOptions = { cancel, prompts, given, fragments: true as const, context, wrapTurn, reconnect };
  const unsettled = createUnsettledRuns(agent, exchanges, update);
  const follow = createFollow(agent, exchanges, tools, unsettled, update, joined, (exchange, stop) =>
    exchange.base ? joins.join(exchange, stop) : waitingRuns.wait(exchange.id, stop),
  );
  const waitingRuns = createWaitingRuns(agent, exchanges, tools, runOptions, update, follow, unsettled);
  const joins = createJoins(agent, exchanges, runOptions, update, follow, start, waitingRuns.resume);

  /** `replaces`: what stops the current run stops those that were left, too. */
  function start({ id, parent, run, input }: Exchange, stop: Observable<void>, replaces = false): Observable<unknown> {
    const base = viewOf(input);
    update(id, { base, hasBegun: false, view: { ...base, status: 'sending' } });
    const isSwitch = whenBusy === 'switch';
    const send = () => {
      if (isSwitch) unsettled.stopLost(); // those that could not be joined
      return agent.stream(input, { ...runOptions, ...historyOn(exchanges.path(parent)), id: run, stop });
    };
    // What the model reads is what the person sees: the rest of a lost answer arrives before the next prompt is sent.
    // With `switch`, it is stopped, and has a second for that. Joining would send answers that have not arrived.
    const read = exchanges.path(parent).filter((one) => isLost(one) && !(isSwitch && one.lost?.run !== one.run));
    if (replaces || isSwitch) unsettled.stopLost(read);
    const rest = joins.readLost(read, isSwitch ? timer(0).pipe(map(noop)) : stop);
    return concat(rest, unsettled.known(exchanges.path(parent), stop), follow(id, run, base, stop, send));
  }

  /** Continues an exchange of a saved conversation. A request that may not have arrived is sent again. */
  const continueExchange = (id: string, stop: Observable<void>): Observable<unknown> =>
    defer(() => {
      const exchange = exchanges.get(id);
      const { base, hasBegun, view, stopping } = exchange;
      if (base && stopping) {
        update(id, { ...stoppedChange(view), lost: { run: stopping, base } });
        return EMPTY;
      }
      if (!base) {
        update(id, { view: waitAgain(view, (call) => isForPage(call, tools)) });
        return waitingRuns.wait(id, stop, true);
      }
      if (!agent.join || hasBegun) return joins.join(exchange, stop);
      return isResumed(exchange) ? waitingRuns.resume({ ...exchange, view: base }, stop) : start(exchange, stop);
    });

  function update(id: string, change: Partial<Exchange>): void {
    exchanges.update(id, change);
    changed();
  }

  return {
    start,

    answer(callId: string, answer: CallAnswers): void {
      if (exchanges.waiting().some(({ id }) => id === callId)) given.next(answer); // a button may be clicked twice
      exchanges.answer(callId, answer);
      changed();
      waitingRuns.answers.next();
    },

    /** Offers a prompt to the run that is executed. One that is not new may be with another run that has not ended. */
    offer({ id, input }: QueuedPrompt, isNew: boolean): string | undefined {
      const open = exchanges.open();
      const may = isNew ? open.filter(({ view }) => view.status !== 'waiting') : [...open, ...lostOf(exchanges)];
      const [only] = may;
      const isShown = only && exchanges.path(exchanges.selected()).includes(only);
      if (!only || may.length > 1 || !prompts.observed || (isNew && !isShown)) return undefined;
      prompts.next(messagesOf(input).map((message, index) => ({ ...message, id: followingId(id, index) })));
      return only.id;
    },

    cancel: (callId: string): void => cancel.next(callId),

    joinLost: joins.joinLost,
    settleLost: joins.settleLost,

    reconnect(): void {
      reconnect.next();
      unsettled.again();
    },

    unsettled,

    /** Continues the open exchanges of a saved conversation: those of a branch in order, and branches at once. */
    continueSaved: (stop: Observable<void>): Observable<unknown> =>
      merge(...openBranches(exchanges).map((branch) => concat(...branch.map(({ id }) => continueExchange(id, stop))))),
  };
}

function requirePageTools(tools: PageTools | undefined): void {
  if (!tools || typeof tools.execute === 'function') return;
  throw optionsError(
    'The option `tools` of `conversation` is not what `pageTools` returns.',
    'Pass `{ tools: pageTools([locate]) }`, with the tools that this page executes.',
  );
}

const historyOn = (path: readonly Exchange[]) => ({ earlier: path.map(earlierRun), history: path.flatMap(historyOf) });

function openBranches(exchanges: Exchanges): readonly (readonly Exchange[])[] {
  const open = new Set(exchanges.open());
  const firstOf = new Map([...open].map((one) => [one, exchanges.path(one.id).find((earlier) => open.has(earlier))]));
  return [...open].map((first) => [...open].filter((exchange) => firstOf.get(exchange) === first));
}
