import type { Chunk } from '../../../core/chunk.js';
import type { JsonObject } from '../../../core/json/json.js';
import type { Message } from '../../../core/message.js';

/** One frame of an answer, not yet delimited. */
export interface DialectFrame {
  /** The payload. */
  readonly data: string;
  /** The dialect's name for the event, where it has one. */
  readonly event?: string;
}

/** Why a server refuses a request, or fails at it. */
export interface Refusal {
  /** The HTTP status. */
  readonly status: number;
  readonly message: string;
  /** The provider's kind of error (`invalid_request_error`). */
  readonly type: string;
  /** The provider's code of the error, where it has one. */
  readonly code?: string;
  /** The parameter that it objects to, where the provider says so in its error. */
  readonly param?: string;
}

/** Writes one answer: pure, no I/O, state of one answer. */
export interface DialectWriter {
  /**
   * The frames of one chunk.
   *
   * @throws ConfigurationError `script` for a chunk that the wire has no words for.
   */
  next(chunk: Chunk): readonly DialectFrame[];
  /** The frames that report a failure in the middle of the answer; nothing follows them. */
  error(error: unknown): readonly DialectFrame[];
  /** The frames that end the answer, usage and terminal mark; none if the model never finished. */
  end(): readonly DialectFrame[];
}

/** What one provider's wire looks like from the server's side. Pure: the server does the I/O, so any dialect can be cut, reset and delayed alike. */
export interface Dialect {
  /** How frames are delimited: server-sent events, or one JSON document a line. */
  readonly framing: 'sse' | 'ndjson';
  readonly contentType: string;
  /** The paths of the base URLs under which the functions of providers find it, by the provider's name: `{ openai: '/v1' }`. */
  readonly bases: Readonly<Record<string, string>>;
  /** Whether requests to this path, without its query, are in this dialect. */
  serves(path: string): boolean;
  /** The key that a request carries, by its headers (names in lower case). Default: the token of `Authorization: Bearer`. */
  keyIn?(headers: Readonly<Record<string, string>>): string | undefined;
  /** What a real server would object to in the body, or in the headers that go with it; undefined if nothing. */
  refusal(body: unknown, headers?: Readonly<Record<string, string>>): Refusal | undefined;
  /** The conversation in a body that was not refused, as the wire has it. */
  messages(body: JsonObject): readonly JsonObject[];
  /** The same conversation in our words; of any body, whatever is in it. */
  history(body: JsonObject): readonly Message[];
  /** The dialect of one server, where it has to remember what was said before. Default: it remembers nothing. */
  perServer?(): Dialect;
  /** Begins an answer. `turn` is its number, from 1. */
  writer(exchange: { readonly turn: number; readonly path: string; readonly body: JsonObject }): DialectWriter;
  /** The body of an answer that is no success. */
  errorBody(refusal: Refusal): JsonObject;
}
