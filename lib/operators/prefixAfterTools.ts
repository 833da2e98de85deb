import type { MonoTypeOperatorFunction, Subscriber } from 'rxjs';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';

/**
 * Prepends `prefix` to the first text after a tool round or a prompt, if the run has emitted text before.
 *
 * <span class="informal">Puts a line break between "I'll look." and "It is 5 degrees."</span>
 *
 * ![](../../marbles/prefixAfterTools.svg)
 *
 * It changes only the stream, never a stored message. The event has the prefix as its field `prefix` too, for a view
 * that shows each text by itself. Place it after `runTurns`, where it receives all turns of a run;
 * a tool round is a `message` with tool results, and a prompt that joins the run is a `message` of the user. Empty text
 * is ignored. On `retract`, the operator returns to its state at the start of the turn.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools());
 * ```
 *
 * @param prefix The text to prepend. Default: a line feed.
 * @param start Where a resumed run continues: whether it has emitted text, and whether a tool round or a prompt has
 * followed. Default: a new run.
 * @returns A function that returns an Observable of the source's events, in which these texts have the prefix.
 */
export function prefixAfterTools<E extends StreamEvent>(
  prefix = '\n',
  start: PrefixPosition = { hasText: false, needsSeparator: false },
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => new Prefixer(out, prefix, start));
}

class Prefixer<E extends StreamEvent> implements OperatorHandlers<E> {
  private turnStart: PrefixPosition;

  constructor(
    private readonly out: Subscriber<E>,
    private readonly prefix: string,
    private position: PrefixPosition,
  ) {
    this.turnStart = position;
  }

  next(event: E): void {
    const { position } = this;
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        if (known.text === '' || (position.hasText && !position.needsSeparator)) break; // nearly every delta
        this.position = { hasText: true, needsSeparator: false };
        if (!position.hasText) break;
        this.out.next({ ...event, text: this.prefix + known.text, prefix: this.prefix });
        return;
      case 'message':
        if (known.message.role === 'user') this.position = { ...position, needsSeparator: true };
        break;
      case 'turn':
        this.turnStart = position;
        break;
      case 'retract':
        this.position = this.turnStart;
        break;
      default:
    }
    this.out.next(event);
  }
}

export interface PrefixPosition {
  readonly hasText: boolean;
  readonly needsSeparator: boolean;
}
