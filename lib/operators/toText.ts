import { distinctUntilChanged, map, scan, skipWhile, type OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';

/**
 * Emits the text of a run so far, after each delta.
 *
 * <span class="informal">The one string that a template shows.</span>
 *
 * ![](../../marbles/toText.svg)
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
 * const answer = toSignal(agent.stream('How warm is it in Oslo?').pipe(toText()), { initialValue: '' });
 * ```
 *
 * @returns A function that returns an Observable of the text so far.
 */
export function toText<E extends StreamEvent>(): OperatorFunction<E, string> {
  return (source) =>
    source.pipe(
      scan(addText, { text: '', turnStart: '' }),
      map(({ text }) => text),
      skipWhile((text) => text === ''),
      distinctUntilChanged(),
    );
}

interface RunText {
  readonly text: string;
  readonly turnStart: string;
}

function addText(before: RunText, event: StreamEvent): RunText {
  const known = asKnownEvent(event);
  const { text, turnStart } = before;
  switch (known.type) {
    case 'text':
      return { text: text + known.text, turnStart };
    case 'turn':
      return { text, turnStart: text };
    case 'retract':
      return { text: turnStart, turnStart };
    default:
      return before;
  }
}
