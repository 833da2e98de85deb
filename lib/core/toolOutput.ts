import type { InteropObservable, Observable } from 'rxjs';
import type { Progress } from './progress.js';
import type { Infer, Schema } from './schema.js';

/**
 * What `execute` may return. Of an Observable or async iterable, the last value not marked with `progress` is the
 * result, and earlier ones are progress. A generator's yields are progress and its return value, or else its last
 * yield, is the result. A value that may be either is held until this is decided.
 */
export type ToolOutput<R, P = never> = R | ToolStream<R, P> | PromiseLike<R | ToolStream<R, P>>;

type ToolStream<R, P> =
  | Observable<R | Progress<P>>
  | InteropObservable<R | Progress<P>>
  | AsyncIterable<R | Progress<P>>
  | AsyncGenerator<P | Progress<P>, R>
  | Generator<P | Progress<P>, R>;

type AnyGenerator<Y, R> = AsyncGenerator<Y, R, never> | Generator<Y, R, never>;

// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- for a generator without a return value
type Nothing = undefined | void;

type Unmarked<T> = Exclude<T, Progress>;

/** The type of the result for a return type of `execute`. The result of an empty stream is null, as for `void`. */
export type ResultOf<Output> = unknown extends Output
  ? unknown
  : Output extends Progress
    ? undefined
    : Output extends PromiseLike<infer T>
      ? ResultOf<T>
      : Output extends Observable<infer T> | InteropObservable<infer T>
        ? OrUndefined<Unmarked<T>>
        : Output extends AnyGenerator<infer Y, infer R>
          ? GeneratorResult<Y, R>
          : Output extends AsyncIterable<infer T>
            ? OrUndefined<Unmarked<T>>
            : Output;

type OrUndefined<T> = [T] extends [never] ? undefined : T;

/** Without a return value, the last yield is the result. */
type GeneratorResult<Y, R> = [R] extends [Nothing]
  ? OrUndefined<Unmarked<Y>>
  : undefined extends R
    ? Exclude<R, Nothing> | OrUndefined<Unmarked<Y>>
    : R;

/** Marked values, and unmarked values that another value follows. */
type StreamProgress<Output> =
  Output extends Progress<infer M>
    ? M
    : Output extends PromiseLike<infer T>
      ? StreamProgress<T>
      : Output extends Observable<infer T> | InteropObservable<infer T>
        ? ProgressValue<T>
        : Output extends AnyGenerator<infer Y, unknown>
          ? ProgressValue<Y>
          : Output extends AsyncIterable<infer T>
            ? ProgressValue<T>
            : never;

type ProgressValue<T> = T extends Progress<infer M> ? M : T;

/** Without a stream and a progress schema, all progress comes from `context.progress`, which accepts any value. */
export type ProgressOf<Output, P> = unknown extends Output
  ? unknown
  : P extends Schema
    ? Infer<P> | StreamProgress<Output>
    : [StreamProgress<Output>] extends [never]
      ? unknown
      : StreamProgress<Output>;
