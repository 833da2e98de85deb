import { from, isObservable, Observable, type Observer, type Unsubscribable } from 'rxjs';
import { isMarkedProgress } from '../../core/progress.js';
import { reportErrorsOf } from '../../core/reportUnhandled.js';

/** The tool still runs after its last value, which is therefore progress. */
export const busy = Symbol('busy');

/** Undefined for a value; strings, arrays and buffers are values, which `from` would split. */
export function toOutputStream(output: unknown): Observable<unknown> | undefined {
  if (typeof output !== 'object' || output === null) return undefined;
  if (isObservable(output)) return output;
  const key = interopKey(output);
  if (key !== undefined) return fromInterop(output as Interop, key);
  if (Symbol.asyncIterator in output) return fromAsyncIterable(output as AsyncIterable<unknown>);
  return isGenerator(output) ? from(withReturnValue(output)) : undefined;
}

/** An async iterable can be a Promise too (a query builder): `await` treats it as one. */
export const isPromise = (output: unknown): output is PromiseLike<unknown> =>
  typeof output === 'object' &&
  output !== null &&
  'then' in output &&
  typeof output.then === 'function' &&
  !isObservable(output) &&
  interopKey(output) === undefined;

/** The return value comes last. Before a marked yield, `busy` says that the tool goes on. */
function* withReturnValue(generator: Generator): Generator {
  let returned: unknown;
  const yields = (function* () {
    returned = yield* generator;
  })();
  for (const value of yields) {
    if (isMarkedProgress(value)) yield busy;
    yield value;
  }
  if (returned !== undefined) yield returned;
}

/**
 * `from` drops the return value, and closes only with the next value. `busy` follows a yield one microtask after the
 * next request: a generator that ends right after the yield has ended by then.
 */
function fromAsyncIterable(iterable: AsyncIterable<unknown>): Observable<unknown> {
  return new Observable<unknown>((out) => {
    const iterator = iterable[Symbol.asyncIterator]();
    let done = false;
    const take = (step: IteratorResult<unknown>) => {
      done = step.done === true;
      if (!done || step.value !== undefined) out.next(step.value);
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
      if (!done) reportErrorsOf(() => iterator.return?.()); // a generator runs its `finally` blocks
    });
    pull();
  });
}

/** The interop method has two names, and RxJS looks for only one of them. */
type Interop = Readonly<Record<PropertyKey, () => { subscribe(observer: Observer<unknown>): Unsubscribable }>>;

const hasMethod = (value: object, key: PropertyKey): boolean => typeof (value as Interop)[key] === 'function';

function interopKey(value: object): PropertyKey | undefined {
  const key = Symbol.observable as symbol | undefined;
  if (key !== undefined && hasMethod(value, key)) return key;
  return hasMethod(value, '@@observable') ? '@@observable' : undefined;
}

const fromInterop = (interop: Interop, key: PropertyKey): Observable<unknown> =>
  // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
  new Observable((out) => interop[key]?.().subscribe(out));

/** Streams and lists, which have no return value, have no `throw` method either. */
const isGenerator = (value: object): value is Generator =>
  'next' in value && 'throw' in value && typeof value.throw === 'function';
