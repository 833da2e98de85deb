import { filter, type OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../core/event.js';

/** The events of a union that have one of the types. */
export type EventOfType<E extends StreamEvent, T extends E['type']> = E extends { readonly type: T }
  ? E
  : string extends E['type']
    ? E & { readonly type: T } // the type of the source says nothing
    : never;

/**
 * Emits only the events of the given types, and narrows their TypeScript type.
 *
 * <span class="informal">`filter` with a type guard for each event.</span>
 *
 * ![](../../marbles/ofType.svg)
 *
 * The types are those of the source: an unknown one is a compile error. The events of tools keep the names, arguments
 * and results of the agent's tools.
 *
 * ```ts
 * run$.pipe(ofType('text')).subscribe(({ text }) => process.stdout.write(text));
 * run$.pipe(ofType('toolStart', 'toolResult')).subscribe(({ type, name }) => console.log(type, name));
 * ```
 *
 * @param types The types of the events to emit.
 * @returns A function that returns an Observable of these events.
 */
export function ofType<E extends StreamEvent, T extends E['type']>(
  ...types: readonly [T, ...T[]]
): OperatorFunction<E, EventOfType<E, T>> {
  const wanted: ReadonlySet<string> = new Set(types);
  return filter((event): event is EventOfType<E, T> & E => wanted.has(event.type));
}
