import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { ResultEvent, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { createPartialJson } from '../core/json/partialJson.js';
import type { DeepPartial } from '../core/json/partialJson.js';
import { createSnapshotPacer } from './snapshotPacer.js';

/**
 * Emits the typed output of a run while it grows: snapshots of the streamed JSON, in place of the events.
 *
 * <span class="informal">A form that fills itself in.</span>
 *
 * ![](../../marbles/partialOutput.svg)
 *
 * It emits at most one snapshot per network read: deltas that arrive in one burst are shown at its end. While an array
 * of hundreds of elements is open, the next snapshot comes after as many characters as there are references to copy, or
 * after 100 ms, so that the total cost stays linear. Nothing is held back at the end of the turn, an error or the
 * completion.
 *
 * A value that has closed is the same object in all snapshots of a response and never changes; an open one is copied.
 * So `===` finds the parts to draw again. A string may be cut anywhere; numbers, booleans and null are complete.
 * Snapshots show what the model writes: not validated, and before any transformation of the schema. The last value is
 * the validated output, emitted if it differs from the last snapshot. A new turn and `retract` start over. Text that is
 * not JSON emits nothing.
 *
 * ```ts
 * const agent = createAgent({ model, output: z.object({ city: z.string(), degrees: z.number() }) });
 * agent.stream('How warm is it in Oslo?').pipe(partialOutput()).subscribe(console.log);
 * // { city: 'O' }
 * // { city: 'Oslo' }
 * // { city: 'Oslo', degrees: 5 }
 * ```
 *
 * @typeParam T The type of the output. Default: the run's own.
 * @returns A function that returns an Observable of the output so far.
 */
export function partialOutput<T>(): OperatorFunction<StreamEvent | ResultEvent<T>, DeepPartial<T>> {
  return createOperator<StreamEvent, DeepPartial<T>>((out) => {
    let json = createPartialJson();
    let lastSnapshot: unknown;
    const emitSnapshot = () => {
      const snapshot = json.snapshot();
      if (snapshot === undefined || snapshot === lastSnapshot) return;
      lastSnapshot = snapshot;
      out.next(snapshot as DeepPartial<T>);
    };
    const pacer = createSnapshotPacer(out, () => json.isDue(), emitSnapshot);
    const reset = () => {
      pacer.drop();
      json = createPartialJson();
    };
    const endTurn = ({ output }: TurnEvent) => {
      json.end();
      pacer.flush();
      reset();
      if (output !== undefined && !isSameJson(output, lastSnapshot)) out.next(output as DeepPartial<T>);
    };
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
            if (json.push(known.text)) pacer.grown();
            break;
          case 'retract':
            reset();
            break;
          case 'turn':
            endTurn(known);
            break;
          default:
        }
      },
      error(thrown) {
        pacer.flush();
        out.error(thrown);
      },
      complete() {
        json.end();
        pacer.flush();
        out.complete();
      },
    };
  });
}
