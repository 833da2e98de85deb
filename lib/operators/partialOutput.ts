import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { ResultEvent, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { createPartialJson } from '../core/json/partialJson.js';
import type { DeepPartial } from '../core/json/partialJson.js';
import { createSnapshotPacer } from './snapshotPacer.js';

/**
 * Emits the typed output of a run while it grows: snapshots of the streamed JSON, instead of the run's events.
 *
 * <span class="informal">A form that fills itself in.</span>
 *
 * ![](../../marbles/partialOutput.svg)
 *
 * It emits at most one snapshot per network read, after all deltas of that read. While an array with hundreds of
 * elements is open, the next snapshot is emitted after as many characters as there are references to copy, or after 100
 * ms, so that the total cost stays linear. At the end of a turn, at an error and at completion, a pending snapshot is
 * emitted immediately.
 *
 * A closed array or object is the same object in all snapshots of a response and never changes; an open one is copied.
 * A UI can therefore use `===` to find the parts to render again. A string may end anywhere; numbers, booleans and null
 * are complete. Snapshots contain the JSON as the model writes it, neither validated nor transformed by the schema. The
 * last value is the validated output, which is emitted only if it differs from the last snapshot. A new turn and
 * `retract` start over. Text that is not JSON emits nothing.
 *
 * ```ts
 * const agent = createAgent({ model, output: z.object({ city: z.string(), degrees: z.number() }) });
 * agent.stream('How warm is it in Oslo?').pipe(partialOutput()).subscribe(console.log);
 * // { city: 'O' }
 * // { city: 'Oslo' }
 * // { city: 'Oslo', degrees: 5 }
 * ```
 *
 * @typeParam T The type of the output. Default: inferred from the run.
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
