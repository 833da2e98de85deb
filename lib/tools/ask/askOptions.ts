import type { Observable } from 'rxjs';
import type { JsonObject } from '../../core/json/json.js';
import type { Infer, InferInput, Schema } from '../../core/schema.js';

/** What a tool asks a person. */
export interface AskOptions<S extends Schema> {
  /** What the person reads. */
  readonly message: string;
  /** The schema of the answer. A form is drawn from it: use an object with a few flat fields. */
  readonly schema: S;
  /** What the person should see beside the question: a preview, or an address to open. Default: nothing. */
  readonly details?: JsonObject | undefined;
  /**
   * Identifies the question within the call, in every replay. Default: its number among the questions of the call.
   * Give a key if the tool asks at once, in an order that may differ.
   */
  readonly key?: string | undefined;
  /** After how many milliseconds the question ends without an answer. Default: it does not end. */
  readonly within?: number | undefined;
  /** The answer, as JSON, if the time is over. Default: an error with the code `timeout`. */
  readonly otherwise?: InferInput<S> | undefined;
}

/** What the context of an `askTool` has beside that of any other tool. */
export interface AskContext {
  /**
   * Asks a person. Emits one validated answer. It fails with an error of the code `denied` if the person declines, and
   * `timeout` if nobody answers in time.
   */
  readonly ask: <S extends Schema>(question: AskOptions<S>) => Observable<Infer<S>>;
  /**
   * Runs the step `key` once, and records its result, which must be JSON: later executions receive it. If the process
   * ends before the record, the step runs again, with the same `idempotencyKey`. `work` returns a value, a Promise or
   * an Observable, of which the last value counts.
   */
  readonly once: <T>(
    key: string,
    work: (idempotencyKey: string) => Observable<T> | PromiseLike<T> | T,
  ) => Observable<T>;
}
