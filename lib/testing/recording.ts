import type { JsonValue } from '../core/json.js';

/** Streamed answers as they came over the wire, without keys: plain JSON, to be stored in a file and served back by `serveRecording`. */
export interface Recording {
  /** In the order of the requests. */
  readonly exchanges: readonly RecordedExchange[];
}

/** A request and what came of it. */
export interface RecordedExchange {
  readonly method: string;
  /** The URL, `[key]` in the place of a key. */
  readonly url: string;
  /** What was sent: JSON, or the text where it was none. Headers are not recorded. */
  readonly body: JsonValue;
  /** The HTTP status. Absent: there was no answer. */
  readonly status?: number;
  /** The answer's headers that matter to a model: type, request id, when to retry. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes of the body as text, a frame for each read. Together they are the body; a read need not be a whole event. */
  readonly frames: readonly string[];
  /** How the body ended: whole; broken off; left by the reader; not yet. */
  readonly end: 'whole' | 'broken' | 'left' | 'open';
}
