import { defer, from, isObservable, map, mergeMap, Observable, of } from 'rxjs';
import type { Observer, Unsubscribable } from 'rxjs';
import { ignoreTeardownErrors } from '../../core/ignoreTeardownErrors.js';
import type { JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { Usage } from '../../core/usage.js';
import { isMarkedProgress, valueOfProgress } from '../../core/progress.js';

/**
 * A notification of a running tool. The last `value` is the result, and each earlier `value` is progress. `busy`
 * reports that the tool still runs after its last `value`.
 */
export type ToolStep =
  | { readonly type: 'start' }
  | { readonly type: 'busy' }
  | { readonly type: 'progress'; readonly value: JsonValue }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'value'; readonly value: JsonValue };

const busy: ToolStep = { type: 'busy' };

/**
 * Converts the return value of `execute` to steps; see `ToolOutput` for the supported types. Anything else is a value,
 * including strings, arrays and buffers, which `from` would split into elements.
 */
export function followOutput(output: unknown): Observable<ToolStep> {
  if (isObservable(output)) return ignoreTeardownErrors(output).pipe(map(toStep));
  if (isInteropObservable(output)) return ignoreTeardownErrors(fromInterop(output)).pipe(map(toStep));
  // Promises are checked before iterators, because a query builder can be both, and `await` treats it as a Promise too.
  if (isPromiseLike(output)) return from(output).pipe(mergeMap(followOutput));
  if (isAsyncIterable(output)) return fromAsyncIterable(output);
  if (isGenerator(output)) return from(withReturnValue(output));
  return of(output).pipe(map(toStep));
}

/** Converts a value of an output to a step. It throws if JSON cannot represent the value. */
function toStep(value: unknown): ToolStep {
  if (isMarkedProgress(value)) return { type: 'progress', value: toJson(valueOfProgress(value)) };
  return { type: 'value', value: toJson(value) };
}

/**
 * The steps of a generator, including its return value. A marked yield shows that the generator still ran after its
 * last unmarked yield, which is therefore progress.
 */
function* withReturnValue(generator: Generator): Generator<ToolStep> {
  let returned: unknown;
  const yields = (function* () {
    returned = yield* generator;
  })();
  for (const value of yields) {
    if (isMarkedProgress(value)) yield busy;
    yield toStep(value);
  }
  if (returned !== undefined) yield toStep(returned);
}

/**
 * The steps of an async iterable, including its return value, which `from` drops. When it is unsubscribed, it is closed
 * at once, whereas `from` waits for the next value.
 *
 * After each yield of a generator, the next value is requested first, and `busy` follows one microtask later. A
 * generator that ends right after the yield has ended by then, so the yield is the result, and is not emitted as
 * progress too.
 */
function fromAsyncIterable(iterable: AsyncIterable<unknown>): Observable<ToolStep> {
  return new Observable<ToolStep>((out) => {
    const iterator = iterable[Symbol.asyncIterator]();
    let done = false;
    const take = (step: IteratorResult<unknown>) => {
      done = step.done === true;
      if (!done || step.value !== undefined) out.next(toStep(step.value));
      if (done) out.complete();
      else if (!out.closed) pull();
    };
    const pull = () => {
      Promise.resolve(iterator.next()) // as in `for await`, it may be a plain object
        .then(take)
        .then(undefined, (thrown: unknown) => out.error(thrown));
      if (isGenerator(iterable)) void Promise.resolve().then(() => out.next(busy));
    };
    out.add(() => {
      if (!done) closeIterator(iterator);
    });
    pull();
  });
}

/** Closes an iterator, so that a generator runs its `finally` blocks. RxJS reports their errors as unhandled. */
function closeIterator(iterator: AsyncIterator<unknown>): void {
  defer(() => Promise.resolve(iterator.return?.())).subscribe();
}

/** An Observable of another library. The interop method has two names, and RxJS looks for only one of them. */
type Interop = Readonly<Record<PropertyKey, () => { subscribe(observer: Observer<unknown>): Unsubscribable }>>;

const interopKey = (value: object): PropertyKey | undefined =>
  [Symbol.observable as symbol | undefined, '@@observable'].find(
    (key): key is string | symbol => key !== undefined && typeof (value as Interop)[key] === 'function',
  );

const isInteropObservable = (value: unknown): value is Interop =>
  typeof value === 'object' && value !== null && interopKey(value) !== undefined;

const fromInterop = (interop: Interop): Observable<unknown> =>
  // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
  new Observable((out) => interop[interopKey(interop) ?? '']?.().subscribe(out));

export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/**
 * Whether a value is a synchronous or asynchronous generator. Streams and lists, which have no return value, have no
 * `throw` method either.
 */
const isGenerator = (value: unknown): value is Generator =>
  typeof value === 'object' &&
  value !== null &&
  'next' in value &&
  'throw' in value &&
  typeof value.throw === 'function';
