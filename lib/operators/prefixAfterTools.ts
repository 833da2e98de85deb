import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { hasToolResults } from '../core/message.js';

/**
 * Prepends `prefix` to the first text after a tool round, if there was text before.
 *
 * <span class="informal">"I'll look." and "It is 5 degrees." do not run together.</span>
 *
 * ![](../../marbles/prefixAfterTools.svg)
 *
 * It changes the stream only, never a stored message. Place it after the loop, where it sees the turns of a run one
 * after the other; a tool round is a `message` with tool results. Empty text neither needs a prefix nor receives one.
 * On `retract` the operator returns to where the turn started.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools());
 * ```
 *
 * @param prefix What is prepended. Default: a line feed.
 * @returns A function that returns an Observable of the source's events, with that one text changed.
 */
export function prefixAfterTools<E extends StreamEvent>(prefix = '\n'): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let position: Position = { hasText: false, afterTools: false };
    let turnStart = position;
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text': {
            if (known.text === '') break;
            const due = position.hasText && position.afterTools;
            if (!position.hasText || position.afterTools) position = { hasText: true, afterTools: false };
            if (!due) break;
            out.next({ ...event, text: prefix + known.text });
            return;
          }
          case 'message':
            if (hasToolResults(known.message)) position = { ...position, afterTools: true };
            break;
          case 'turn':
            turnStart = position;
            break;
          case 'retract':
            position = turnStart;
            break;
          default:
        }
        out.next(event);
      },
    };
  });
}

/** Where a run stands: whether it has emitted text, and whether a tool round has followed that text. */
interface Position {
  readonly hasText: boolean;
  readonly afterTools: boolean;
}
