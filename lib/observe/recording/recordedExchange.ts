import type { JsonValue } from '../../core/json/json.js';

/** A request and its response. */
export interface RecordedExchange {
  readonly method: string;
  /** The URL, with `[key]` instead of a key. */
  readonly url: string;
  /** The body of the request: JSON, or the text if it was not JSON. Headers are not recorded. */
  readonly body: JsonValue;
  /** The HTTP status. Absent if there was no response. */
  readonly status?: number;
  /** The headers of the response that matter to a model: content type, request id, when to retry. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as text, one string per network read. A read may hold several events, or a part of one. */
  readonly frames: readonly string[];
  /** How many frames were not recorded because the response was too long. */
  readonly dropped?: number;
  /**
   * How the body ended.
   * - `whole`: it was read completely.
   * - `broken`: the connection broke.
   * - `left`: the consumer cancelled it.
   * - `open`: it has not ended yet.
   */
  readonly end: 'whole' | 'broken' | 'left' | 'open';
}
