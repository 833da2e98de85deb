import type { OperatorFunction } from 'rxjs';
import type { FinishChunk, RetractChunk, ToolCallFragment } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, ToolCallEvent } from '../core/event.js';
import { createToolCallAccumulator } from './toolCalls/accumulator.js';
import type { AccumulateOptions } from './toolCalls/accumulator.js';

/**
 * Joins the fragments of tool calls, in any dialect, and emits each call once, when it is whole.
 *
 * <span class="informal">Pieces in, whole calls out.</span>
 *
 * ![](../../marbles/accumulateToolCalls.svg)
 *
 * A call is whole when the wire marks its end, otherwise at the `finish`. A stream that ends without a `finish`, or with `length`, exposes no
 * unfinished call. A `finish` of `stop` or `unspecified` in a turn with calls becomes `toolCalls`. Arguments that are not a JSON object become
 * `{ _raw, _error: 'invalid_json' }`; calls without an id get one; ids used before are made distinct. All other events pass as they are. On `retract`
 * the pending calls are dropped. The cost is linear in the bytes, however they are cut.
 *
 * ```ts
 * model.stream(request).pipe(accumulateToolCalls()).subscribe((event) => {
 *   if (event.type === 'toolCall') console.log(event.name, event.arguments); // weather { city: 'Oslo' }
 * });
 * ```
 *
 * @param options `usedIds`: ids the conversation has used, or a function that tells them (default none). `newId`: makes ids (default `nanoid`). `fragments`: let the fragments
 * through as well, each told of its call (its place as `index`, its name so far, its id if the wire has said one), for a UI that shows arguments as they
 * grow (default false).
 * @returns A function that returns an Observable of the source's events, its fragments replaced by whole calls.
 */
export function accumulateToolCalls<E extends StreamEvent>(
  options?: AccumulateOptions & { readonly fragments?: false },
): OperatorFunction<E, Exclude<E, ToolCallFragment> | ToolCallEvent>;

/** Fragments become whole tool calls, and pass through as well, told of the call that they belong to. */
export function accumulateToolCalls<E extends StreamEvent>(
  options: AccumulateOptions & { readonly fragments: boolean },
): OperatorFunction<E, E | ToolCallEvent>;
export function accumulateToolCalls(
  options: AccumulateOptions & { readonly fragments?: boolean } = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    let calls = createToolCallAccumulator(options);
    let any = false;
    const emit = (whole: readonly ToolCallEvent[]) => {
      for (const call of whole) out.next(call);
      any ||= whole.length > 0;
    };
    const known = (event: Known) => {
      if (event.type === 'toolCallFragment') {
        emit(calls.add(event, options.fragments ? (told) => out.next(told) : undefined));
        return undefined;
      }
      if (event.type === 'retract') {
        calls = createToolCallAccumulator(options);
        any = false;
        return event;
      }
      emit(calls.finish(event.reason));
      return any && (event.reason === 'stop' || event.reason === 'unspecified')
        ? { ...event, reason: 'toolCalls' as const }
        : event;
    };
    return {
      next(event) {
        const passed = isKnown(event) ? known(event) : event;
        if (passed) out.next(passed);
      },
    };
  });
}

type Known = ToolCallFragment | RetractChunk | FinishChunk;

const isKnown = (event: StreamEvent): event is Known =>
  event.type === 'toolCallFragment' || event.type === 'finish' || event.type === 'retract';
