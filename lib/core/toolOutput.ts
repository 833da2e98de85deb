import type { InteropObservable, Observable } from 'rxjs';
import type { Progress } from './progress.js';
import type { Infer, Schema } from './schema.js';

/**
 * What the `execute` of a tool may return. `R` is the type of the result, `P` that of progress.
 *
 * - A value is the result.
 * - A Promise is followed, also to an Observable or a generator.
 * - An Observable, of RxJS or another library, or an async iterable that is not a generator: values marked with
 *   `progress` are emitted at once. The last unmarked value is the result; an earlier one is emitted as progress when
 *   the next unmarked one follows.
 * - A generator, async or not: its yields are progress, and its return value is the result. Without a return value, the
 *   last yield is the result; it is emitted as progress as well if the generator was still busy after it.
 *
 * Progress that is held, since it may be the result, is emitted when the tool fails, is cancelled or meets its
 * deadline.
 */
export type ToolOutput<R, P = never> = R | ToolStream<R, P> | PromiseLike<R | ToolStream<R, P>>;

type ToolStream<R, P> =
  | Observable<R | Progress<P>>
  | InteropObservable<R | Progress<P>>
  | AsyncIterable<R | Progress<P>>
  | AsyncGenerator<P | Progress<P>, R>
  | Generator<P | Progress<P>, R>;

/** A generator of either kind. The type of what is sent into it does not matter. */
type AnyGenerator<Y, R> = AsyncGenerator<Y, R, never> | Generator<Y, R, never>;

// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- of a generator without a return value
type Nothing = undefined | void;

type Unmarked<T> = Exclude<T, Progress>;

/** The type of the result that an output leads to. An empty stream leads to null, like `void`. */
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

/** The type of the progress that an output leads to: what is marked, and what is progress once something follows it. */
type StreamProgress<Output> =
  Output extends Progress<infer M>
    ? M
    : Output extends PromiseLike<infer T>
      ? StreamProgress<T>
      : Output extends Observable<infer T> | InteropObservable<infer T>
        ? ShownValue<T>
        : Output extends AnyGenerator<infer Y, unknown>
          ? ShownValue<Y>
          : Output extends AsyncIterable<infer T>
            ? ShownValue<T>
            : never;

type ShownValue<T> = T extends Progress<infer M> ? M : T;

/** Without a stream and without a schema, all progress comes from `context.progress`, which accepts anything. */
export type ProgressOf<Output, P> = unknown extends Output
  ? unknown
  : P extends Schema
    ? Infer<P> | StreamProgress<Output>
    : [StreamProgress<Output>] extends [never]
      ? unknown
      : StreamProgress<Output>;
