import { concat, defer, EMPTY, type Observable } from 'rxjs';
import type { ConversationAgent, RunNotifiers } from './conversationAgent.js';
import { isLost, type Exchange, type Exchanges } from './exchanges.js';
import { untilBroken, type Follow, type WaitingRuns } from './waitingRuns.js';
import { failView, sendingView, shownMessages } from '../operators/view/view.js';

/** `resume` sends the answers to the calls of an exchange. */
export function createJoins(
  agent: ConversationAgent,
  exchanges: Exchanges,
  notifiers: Omit<RunNotifiers, 'stop'>,
  update: (id: string, change: Partial<Exchange>) => void,
  follow: Follow,
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

  /** While `isQuiet`, joining is tried once, and shown when it has worked. */
  function joinLost(id: string, stop: Observable<void>, isQuiet: boolean): Observable<unknown> {
    return defer(() => {
      const exchange = exchanges.get(id);
      const { lost, view, run } = exchange;
      if (!lost || !isLost(exchange)) return EMPTY;
      if (!isQuiet) update(id, { view: sendingView(view) });
      // A decision that did not arrive is sent again: the service uses it once.
      if (lost.run !== run) return resume({ ...exchange, view: lost.base }, stop, undefined, isQuiet);
      return follow(id, run, lost.base, stop, () => {
        const events = agent.join?.(run, { ...notifiers, stop }) ?? EMPTY;
        return isQuiet ? untilBroken(events) : events;
      });
    });
  }

  return { join, joinLost };
}
