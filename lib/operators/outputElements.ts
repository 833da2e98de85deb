import { concatMap, from, of } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { RetractChunk, TextChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, TurnEvent } from '../core/event.js';
import { isSameJson } from '../core/json/equal.js';
import type { JsonValue } from '../core/json/json.js';
import { createPartialJson } from '../core/json/partialJson.js';
import { ElementError } from '../core/runErrors.js';
import { validate } from '../core/schema.js';
import type { Infer, Schema, Validation } from '../core/schema.js';

/** Options of `outputElements`. */
export interface OutputElementsOptions {
  /**
   * Where the array is: a property of the root, or the properties on the way to it; `[]` is the root. Default: the root if it is an array, otherwise the
   * first property of the root that is one.
   */
  readonly path?: string | readonly string[];
}

/**
 * The elements of the array that a run writes as JSON, each as soon as it is finished, once, in order, in place of the events.
 *
 * <span class="informal">The first search result is there while the tenth is being written.</span>
 *
 * ![](../../marbles/outputElements.svg)
 *
 * An element that is not valid ends the elements of its reply, so that there is no gap that nobody notices. If the run then has its reply repaired, or
 * starts it over (`retract`), they go on with the new one, and what is in it as it was is not emitted again; otherwise it is an ElementError at
 * the end. Text that is not JSON emits nothing.
 *
 * ```ts
 * agent.stream('Ten rivers, as JSON.').pipe(outputElements(z.object({ name: z.string() })), concatMap(save)).subscribe();
 * ```
 *
 * @param schema What an element has to be: a Standard Schema (zod), or a plain JSON Schema. Default: anything.
 * @param options `path`: where the array is.
 * @returns A function that returns an Observable of the elements. It errors with an ElementError, which has the index, the element and what is wrong.
 */
export function outputElements<S extends Schema>(
  schema: S,
  options?: OutputElementsOptions,
): OperatorFunction<StreamEvent, Infer<S>>;

/** Each finished element of the array that a run writes, as it is. */
export function outputElements<T = JsonValue>(
  schema?: undefined,
  options?: OutputElementsOptions,
): OperatorFunction<StreamEvent, T>;
export function outputElements(
  schema?: Schema,
  { path }: OutputElementsOptions = {},
): OperatorFunction<StreamEvent, unknown> {
  const keys = typeof path === 'string' ? [path] : path;
  return (source) =>
    source.pipe(
      finished(keys),
      concatMap((found): Observable<Checked> => {
        if (found === 'anew' || !schema)
          return of(found === 'anew' ? found : { ...found, checked: { value: found.value } });
        const checked = validate(schema, found.value);
        if (checked instanceof Promise) return from(checked.then((settled) => ({ ...found, checked: settled })));
        return of({ ...found, checked });
      }),
      valid(),
    );
}

interface Found {
  readonly index: number;
  readonly value: JsonValue;
}

/** `anew`: the next elements are those of another reply, from 0. */
type Checked = 'anew' | (Found & { readonly checked: Validation<unknown> });

/** The elements as they are finished. A turn without the array leaves those of an earlier one as they are. */
const finished = (path: readonly string[] | undefined) =>
  createOperator<StreamEvent, 'anew' | Found>((out) => {
    let json = createPartialJson();
    let emitted = 0;
    let begun = false;
    const begin = () => {
      json = createPartialJson();
      emitted = 0;
      begun = false;
    };
    const emit = () => {
      const list = json.array(path);
      if (!list) return;
      if (!begun) out.next('anew');
      begun = true;
      for (; emitted < list.finished; emitted++) out.next({ index: emitted, value: list.values[emitted] ?? null });
    };
    return {
      next(event) {
        if (!isKnown(event)) return;
        if (event.type === 'text') {
          json.push(event.text);
          emit();
          return;
        }
        begin();
        if (event.type === 'retract') out.next('anew');
      },
    };
  });

/** Those that are valid and new; the error, when no other reply came to mend it. */
const valid = () =>
  createOperator<Checked, unknown>((out) => {
    const emitted: JsonValue[] = [];
    let invalid: ElementError | undefined;
    return {
      next(found) {
        if (found === 'anew') {
          invalid = undefined;
          return;
        }
        if (invalid) return;
        const { index, value, checked } = found;
        if ('invalid' in checked) invalid = new ElementError(index, value, checked.invalid);
        else if (index >= emitted.length || !isSameJson(emitted[index], value)) {
          emitted[index] = value;
          out.next(checked.value);
        }
      },
      complete() {
        if (invalid) out.error(invalid);
        else out.complete();
      },
    };
  });

type Known = TextChunk | RetractChunk | TurnEvent;

const isKnown = (event: StreamEvent): event is Known =>
  event.type === 'text' || event.type === 'retract' || event.type === 'turn';
