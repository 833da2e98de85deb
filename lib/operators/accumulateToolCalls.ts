import type { OperatorFunction, Subscriber } from 'rxjs';
import type { FinishChunk, ToolCallFragment } from '../core/chunk.js';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { StreamEvent, ToolCallEvent, RunEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { ToolCallAccumulator, type AccumulateOptions } from './accumulate/accumulator.js';
import type { OfType } from '../core/typesOf.js';

/**
 * Joins the fragments of tool calls, from any provider, and emits each call once, when it is complete.
 *
 * <span class="informal">Fragments in, complete calls out.</span>
 *
 * ![](../../marbles/accumulateToolCalls.svg)
 *
 * A call is complete when the provider marks its end, or when its arguments have closed and a call opens at another
 * index; otherwise at a `finish` of `stop`, `toolCalls` or `unspecified`. With another reason, and without a `finish`,
 * incomplete calls are dropped. A `finish` of `stop` or `unspecified` in a turn with calls becomes `toolCalls`.
 * Arguments that are not a JSON object become `{ _raw, _error: 'invalid_json' }`. A call without an id receives a new
 * id, and an id that was used before is replaced. All other events pass through. `retract` discards the pending calls.
 * A fragment marked as `preview` is emitted with `fragments`, and belongs to no call. The cost is linear in the length
 * of the stream, however the arguments are split into fragments.
 *
 * ```ts
 * model.stream(request).pipe(accumulateToolCalls()).subscribe((event) => {
 *   if (event.type === 'toolCall') console.log(event.name, event.arguments); // weather { city: 'Oslo' }
 * });
 * ```
 *
 * @param options `usedIds`: ids that the conversation has used, or a function that returns them (default: none).
 * `newId`: generates ids, another one at each call (default: `nanoid`). `fragments`: emit the fragments as well, each
 * labelled with its call's index, name and id (what has more than 128 characters, once), for a UI that shows arguments
 * while they grow (default: false).
 * @returns A function that returns an Observable of the source's events, with complete calls in place of fragments.
 */
export function accumulateToolCalls<E extends StreamEvent>(
  options?: AccumulateOptions & { readonly fragments?: false | undefined },
): OperatorFunction<E, Exclude<E, ToolCallFragment> | OfType<RunEvent, 'toolCall'>>;

/** Joins fragments into complete tool calls, and emits the fragments as well, labelled with their call. */
export function accumulateToolCalls<E extends StreamEvent>(
  options: AccumulateOptions & { readonly fragments?: boolean | undefined },
): OperatorFunction<E, E | OfType<RunEvent, 'toolCall'>>;
export function accumulateToolCalls(
  options: AccumulateOptions & { readonly fragments?: boolean | undefined } = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new Accumulation(out, options));
}

class Accumulation implements OperatorHandlers<StreamEvent> {
  private readonly calls: ToolCallAccumulator;
  private readonly emitsFragments: boolean;
  private hasCalls = false;

  constructor(
    private readonly out: Subscriber<StreamEvent>,
    options: AccumulateOptions & { readonly fragments?: boolean | undefined },
  ) {
    this.calls = new ToolCallAccumulator(options);
    this.emitsFragments = options.fragments ?? false;
  }

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'toolCallFragment':
        this.addFragment(known);
        break;
      case 'finish':
        this.finish(known);
        break;
      case 'retract':
        this.calls.retract();
        this.hasCalls = false;
        this.out.next(event);
        break;
      default:
        this.out.next(event);
    }
  }

  private addFragment(fragment: ToolCallFragment): void {
    const { calls, out } = this;
    const call = calls.addFragment(fragment);
    if (!call) return;
    const labelled = this.emitsFragments ? calls.label(fragment, call) : undefined;
    const done = calls.takeDone();
    if (done.length > 0) this.hasCalls = true;
    if (labelled) out.next(labelled);
    this.emit(done);
  }

  private finish(event: FinishChunk): void {
    const remaining = this.calls.finish(event.reason);
    const becomesToolCalls =
      (this.hasCalls || remaining.length > 0) && (event.reason === 'stop' || event.reason === 'unspecified');
    this.hasCalls = false; // before anything is emitted: a handler may push the next turn into a Subject
    this.emit(remaining);
    this.out.next(becomesToolCalls ? { ...event, reason: 'toolCalls' as const } : event);
  }

  private emit(complete: readonly ToolCallEvent[]): void {
    for (const call of complete) this.out.next(call);
  }
}
