import type { OperatorFunction, Subscriber } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { OperatorHandlers } from '../core/createOperator.js';
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
  return createOperator<E, string>((out) => new TextSoFar(out));
}

class TextSoFar implements OperatorHandlers<StreamEvent> {
  private text = '';
  private turnStart = '';

  constructor(private readonly out: Subscriber<string>) {}

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        this.change(this.text + known.text);
        break;
      case 'turn':
        this.turnStart = this.text;
        break;
      case 'retract':
        this.change(this.turnStart);
        break;
      default:
    }
  }

  private change(changed: string): void {
    if (changed.length === this.text.length) return; // it only grows, or returns to its start
    this.text = changed;
    this.out.next(changed);
  }
}
