import type { OperatorFunction, Subscriber } from 'rxjs';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { ResultEvent, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { createPartialJson, type DeepPartial } from '../core/json/partialJson.js';
import { SnapshotPacer, type Growing } from './snapshotPacer.js';
import type { Plain } from '../core/typesOf.js';

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
export function partialOutput<T>(): OperatorFunction<StreamEvent | Plain<ResultEvent<T>>, DeepPartial<T>> {
  return createOperator<StreamEvent, DeepPartial<T>>((out) => new GrowingOutput(out));
}

class GrowingOutput<T> implements OperatorHandlers<StreamEvent>, Growing {
  private json = createPartialJson();
  private lastSnapshot: unknown;
  private readonly pacer: SnapshotPacer;

  constructor(private readonly out: Subscriber<DeepPartial<T>>) {
    this.pacer = new SnapshotPacer(out, this);
  }

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        if (this.json.push(known.text)) this.pacer.grown();
        break;
      case 'retract':
        this.reset();
        break;
      case 'turn':
        this.endTurn(known);
        break;
      default:
    }
  }

  error(thrown: unknown): void {
    this.pacer.flush();
    this.out.error(thrown);
  }

  complete(): void {
    this.json.end();
    this.pacer.flush();
    this.out.complete();
  }

  isDue(): boolean {
    return this.json.isDue();
  }

  emitSnapshot(): void {
    const snapshot = this.json.snapshot();
    if (snapshot === undefined || snapshot === this.lastSnapshot) return;
    this.lastSnapshot = snapshot;
    this.out.next(snapshot as DeepPartial<T>);
  }

  private endTurn({ output }: TurnEvent): void {
    this.json.end();
    this.pacer.flush();
    this.reset();
    if (output !== undefined && !isSameJson(output, this.lastSnapshot)) this.out.next(output as DeepPartial<T>);
  }

  private reset(): void {
    this.pacer.drop();
    this.json = createPartialJson();
  }
}
