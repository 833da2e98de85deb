import { concat, defer, EMPTY, merge, repeat, takeUntil, timer, type Observable } from 'rxjs';
import type { ConversationAgent, RunNotifiers } from './conversationAgent.js';
import type { Exchange } from './exchange.js';
import { isLost, lostOf, type Exchanges } from './exchanges.js';
import { TRIES } from './unsettledRuns.js';
import { untilBroken, type Follow, type WaitingRuns } from './waitingRuns.js';
import { failView, sendingView, shownMessages } from '../operators/view/view.js';
import { awake } from '../transport/pageFetch.js';

/** How often a lost run is read, at first, whose end decides whether a prompt is sent, in milliseconds. */
const READ_INTERVAL = 30_000;

/** `start` sends the prompt of an exchange, and `resume` the answers to its calls. */
export function createJoins(
  agent: ConversationAgent,
  exchanges: Exchanges,
  notifiers: Omit<RunNotifiers, 'stop'>,
  update: (id: string, change: Partial<Exchange>) => void,
  follow: Follow,
  start: (exchange: Exchange, stop: Observable<void>) => Observable<unknown>,
  resume: WaitingRuns['resume'],
) {
  /** What was shown of a run that ends with this page becomes a part of the history. */
  function join({ id, run, base, view, answers }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!agent.join) {
      exchanges.update(id, { view: failView(view), messages: shownMessages(view), base: undefined });
      return EMPTY;
    }
    update(id, { view: { ...view, status: 'sending' } });
    const given = concat(answers ? [answers] : [], notifiers.given ?? EMPTY); // it may not have arrived
    return follow(id, run, base ?? view, stop, () => agent.join?.(run, { ...notifiers, given, stop }) ?? EMPTY);
  }

  /** While `isQuiet`, joining is tried once, and shown when it has worked. Else, a prompt may be sent. */
  function joinLost(id: string, stop: Observable<void>, isQuiet: boolean): Observable<unknown> {
    return defer(() => {
      const exchange = exchanges.get(id);
      const { lost, view, run, hasBegun } = exchange;
      if (!lost || !isLost(exchange)) return EMPTY;
      if (!isQuiet) update(id, { view: sendingView(view) });
      // A decision that did not arrive is sent again: the service uses it once.
      if (lost.run !== run) return resume({ ...exchange, view: lost.base }, stop, undefined, isQuiet);
      if (!isQuiet && !hasBegun) return start(exchange, stop);
      return follow(id, run, lost.base, stop, () => {
        // A run that is read before another one takes no prompt: that one would be offered it, too.
        const { prompts, ...others } = notifiers;
        const events = agent.join?.(run, { ...others, stop, ...(isQuiet ? {} : { prompts }) }) ?? EMPTY;
        return isQuiet ? untilBroken(events) : events;
      });
    });
  }

  /** Reads the rest of lost answers. */
  const readLost = (lost: readonly Exchange[], stop: Observable<void>): Observable<unknown> =>
    merge(...lost.map(({ id }) => joinLost(id, stop, true)));

  /** Completes when the lost run of an exchange, or each, has told which prompts it has taken, or with `stop`. */
  function settleLost(offeredTo: string | undefined, stop: Observable<void>): Observable<unknown> {
    const clock = (count: number) => (count < TRIES ? timer(READ_INTERVAL) : EMPTY);
    const again = (count: number) => merge(awake(), notifiers.reconnect ?? EMPTY, clock(count)).pipe(takeUntil(stop));
    const lost = () => lostOf(exchanges).filter(({ id }) => id === (offeredTo ?? id));
    const delay = (count: number) => (lost().length > 0 ? again(count) : EMPTY);
    return defer(() => readLost(lost(), stop)).pipe(repeat({ delay }));
  }

  return { join, joinLost, readLost, settleLost };
}
