import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';

/**
 * Emits the text of a run so far, after each delta.
 *
 * <span class="informal">The one string that a template shows.</span>
 *
 * ![](../../marbles/text.svg)
 *
 * Each value is the complete text since the start, so it replaces what is shown. The last one equals `text` of the
 * run's result (after `agent.resume`: the part since then). On `retract`, the text of the turn is void: a shorter text
 * is emitted. A value is emitted only if the text has changed; a run without text emits nothing. For the deltas
 * themselves, use `ofType('text')`.
 *
 * A view that renders each value pays for its length. `auditTime(0, animationFrameScheduler)` limits the values to
 * those that a screen shows.
 *
 * ```ts
 * const answer = toSignal(agent.stream('How warm is it in Oslo?').pipe(text()), { initialValue: '' });
 * ```
 *
 * @returns A function that returns an Observable of the text so far.
 */
export function text<E extends StreamEvent>(): OperatorFunction<E, string> {
  return createOperator<E, string>((out) => {
    let textSoFar = '';
    let turnStart = '';
    const change = (changed: string) => {
      if (changed.length === textSoFar.length) return; // it only grows, or returns to its start
      textSoFar = changed;
      out.next(changed);
    };
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
            change(textSoFar + known.text);
            break;
          case 'turn':
            turnStart = textSoFar;
            break;
          case 'retract':
            change(turnStart);
            break;
          default:
        }
      },
    };
  });
}
