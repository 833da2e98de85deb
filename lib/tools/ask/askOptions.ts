import type { JsonObject } from '../../core/json/json.js';
import type { InferInput, Schema } from '../../core/schema.js';

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
