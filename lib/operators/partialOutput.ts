import type { OperatorFunction } from 'rxjs';
import type { RetractChunk, TextChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { ResultEvent, StreamEvent, TurnEvent } from '../core/event.js';
import { isSameJson } from '../core/json/equal.js';
import { createPartialJson } from '../core/json/partialJson.js';
import type { DeepPartial } from '../core/json/partialJson.js';
import { createSnapshotPacer } from './snapshotPacer.js';

/**
 * The typed output of a run, as it grows: snapshots of the JSON that streams, in place of the events.
 *
 * <span class="informal">A form that fills itself in.</span>
 *
 * ![](../../marbles/partialOutput.svg)
 *
 * One snapshot a network read, at most: what comes in one burst is shown at its end. While a list of hundreds is open, a snapshot comes after as many
 * characters as there is to copy, or 100 ms, so that all of it stays linear; nothing is held beyond the end of the turn, an error or the completion.
 *
 * What has closed is the same object in all snapshots of a reply, and is never changed; what is open is copied. So `===` tells what to draw again. A string
 * may end anywhere; numbers, booleans and null come whole. The snapshots are as the model writes: not validated, and before any transformation of the schema. The
 * last value is the validated output, emitted if it differs from the last snapshot. A turn, and a `retract`, begin anew. Text that is not JSON emits nothing.
 *
 * ```ts
 * const agent = createAgent({ model, output: z.object({ city: z.string(), degrees: z.number() }) });
 * agent.stream('How warm is it in Oslo?').pipe(partialOutput()).subscribe(console.log);
 * // { city: 'O' }
 * // { city: 'Oslo' }
 * // { city: 'Oslo', degrees: 5 }
 * ```
 *
 * @typeParam T The output's type: the run's own, unless it is given.
 * @returns A function that returns an Observable of the output so far.
 */
export function partialOutput<T>(): OperatorFunction<StreamEvent | ResultEvent<T>, DeepPartial<T>> {
  return createOperator<StreamEvent, DeepPartial<T>>((out) => {
    let json = createPartialJson();
    let last: unknown;
    const show = () => {
      const snapshot = json.snapshot();
      if (snapshot === undefined || snapshot === last) return;
      last = snapshot;
      out.next(snapshot as DeepPartial<T>);
    };
    const pacer = createSnapshotPacer(out, () => json.isDue(), show);
    const begin = () => {
      pacer.drop();
      json = createPartialJson();
    };
    const endTurn = ({ output }: TurnEvent) => {
      json.end();
      pacer.flush();
      begin();
      if (output !== undefined && !isSameJson(output, last)) out.next(output as DeepPartial<T>);
    };
    return {
      next(event) {
        if (!isKnown(event)) return;
        if (event.type === 'text') {
          if (json.push(event.text)) pacer.grown();
        } else if (event.type === 'retract') begin();
        else endTurn(event);
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

type Known = TextChunk | RetractChunk | TurnEvent;

const isKnown = (event: StreamEvent): event is Known =>
  event.type === 'text' || event.type === 'retract' || event.type === 'turn';
