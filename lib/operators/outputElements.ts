import { concatMap, from, of, type Observable, type OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import type { JsonValue } from '../core/json/json.js';
import { createPartialJson } from '../core/json/partialJson.js';
import { ElementError } from '../core/runErrors.js';
import { validate, type Infer, type Schema, type Validation } from '../core/schema.js';

export interface OutputElementsOptions {
  /**
   * The name of a property of the root, or the names from the root to the array (`[]`: the root). Default: the root, or
   * its first property that is an array.
   */
  readonly path?: string | readonly string[];
}

/**
 * Emits the elements of the JSON array that a run writes, instead of the run's events. Each element is emitted once, in
 * order, as soon as it is complete.
 *
 * <span class="informal">The first search result is available while the model still writes the tenth.</span>
 *
 * ![](../../marbles/outputElements.svg)
 *
 * After an invalid element, no more elements of the same response are emitted, so that no element is skipped unnoticed.
 * If the run then repairs its response or starts over (`retract`), the elements of the new response follow, except
 * those that equal an element already emitted at the same index. Otherwise the output fails with an ElementError at the
 * end. Text that is not JSON emits nothing.
 *
 * ```ts
 * const river = z.object({ name: z.string() });
 * agent.stream('Ten rivers, as JSON.').pipe(outputElements(river), concatMap(save)).subscribe();
 * ```
 *
 * @param schema The schema of an element: a Standard Schema (zod), or a plain JSON Schema. Default: any value.
 * @param options `path`: the path of the array.
 * @returns A function that returns an Observable of the elements. It fails with an ElementError that contains the
 * index, the element and the reason.
 */
export function outputElements<S extends Schema>(
  schema: S,
  options?: OutputElementsOptions,
): OperatorFunction<StreamEvent, Infer<S>>;

/** Emits each complete element of the array that a run writes, without validation. */
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
      completeElements(keys),
      concatMap((element) => check(element, schema)),
      newValidElements(),
    );
}

interface Element {
  readonly index: number;
  readonly value: JsonValue;
}

interface CheckedElement extends Element {
  readonly checked: Validation<unknown>;
}

/** Another response replaces the one before it, and with it an invalid element. */
const RESTART = 'restart';

const completeElements = (path: readonly string[] | undefined) =>
  createOperator<StreamEvent, typeof RESTART | Element>((out) => {
    let json = createPartialJson();
    let nextIndex = 0;
    let hasArray = false;
    const reset = () => {
      json = createPartialJson();
      nextIndex = 0;
      hasArray = false;
    };
    const emitComplete = () => {
      const array = json.array(path);
      if (!array) return;
      if (!hasArray) out.next(RESTART);
      hasArray = true;
      while (nextIndex < array.finished) {
        const index = nextIndex++;
        out.next({ index, value: array.values[index] ?? null });
      }
    };
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
            json.push(known.text);
            emitComplete();
            break;
          case 'turn':
            reset();
            if (known.finishReason === 'stopped') out.next(RESTART); // an invalid element will not be repaired
            break;
          case 'retract':
            reset();
            out.next(RESTART);
            break;
          default:
        }
      },
    };
  });

function check(
  element: typeof RESTART | Element,
  schema: Schema | undefined,
): Observable<typeof RESTART | CheckedElement> {
  if (element === RESTART) return of(RESTART);
  if (!schema) return of({ ...element, checked: { value: element.value } });
  const checked = validate(schema, element.value);
  if (checked instanceof Promise) return from(checked.then((validation) => ({ ...element, checked: validation })));
  return of({ ...element, checked });
}

const newValidElements = () =>
  createOperator<typeof RESTART | CheckedElement, unknown>((out) => {
    const emitted: JsonValue[] = [];
    let elementError: ElementError | undefined;
    return {
      next(element) {
        if (element === RESTART) {
          elementError = undefined;
          return;
        }
        if (elementError) return;
        const { index, value, checked } = element;
        if ('invalid' in checked) elementError = new ElementError(index, value, checked.invalid);
        else if (!isSameJson(emitted[index], value)) {
          emitted[index] = value;
          out.next(checked.value);
        }
      },
      complete() {
        if (elementError) out.error(elementError);
        else out.complete();
      },
    };
  });
