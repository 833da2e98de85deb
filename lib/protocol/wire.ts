import type { Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import type { JsonObject } from '../core/json/json.js';
import type { FilePart } from '../core/message.js';
import type { ModelRequest } from '../core/model.js';
import type { Usage } from '../core/usage.js';
import type { RetryOptions } from './retryRequest.js';

export interface FramingOptions {
  readonly provider: string;
  /** In characters (UTF-16 units). Default: 16 Mi, since a base64 image is one event. */
  readonly maxEventLength?: number | undefined;
  /** Finds the error in text that belongs to no event. Default: none. */
  readonly toError?: ((provider: string, text: string) => Error | undefined) | undefined;
  readonly quote?: ((text: string) => string) | undefined;
}

/** How frames are delimited in a body. `sse` and `ndjson` are the framings of the known providers. */
export interface Framing {
  /** The media type of the body, which the request accepts. */
  readonly mediaType: string;
  /** Creates the reader of one body. `emit` receives the frames. */
  readonly createReader: (options: FramingOptions, emit: (frame: Frame) => void) => FrameReader;
}

/** One frame of a streamed body, without its delimiters. */
export interface Frame {
  readonly data: string;
  /** The `event` field of a server-sent event, where there is one. */
  readonly event?: string | undefined;
  /** The `id` field of a server-sent event, where there is one. */
  readonly id?: string | undefined;
  /** The body ended before the frame's delimiter: the frame may be incomplete. */
  readonly unterminated?: true;
}

/** Pure: no I/O. An error that it throws ends the response. */
export interface FrameReader {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** A request as a provider's API expects it. */
export interface WireRequest {
  /** The path below the base URL, beginning with a slash. */
  readonly path: string;
  /** The provider's own headers, besides content type, accept and key. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** The secrets in the body, which no error may reveal: tokens for services that the provider calls. Default: none. */
  readonly secrets?: readonly string[];
  /**
   * Returns the request to send instead, if this one failed with an error before its first chunk: one that does without
   * something that the server no longer has (the response it refers to, a container). It is a request of its own, with
   * its own retries. Default, and if it returns undefined: none, the error is emitted.
   */
  readonly fallback?: (error: unknown) => WireRequest | undefined;
}

/** Decodes one response. Pure: no I/O. */
export interface Decoder {
  /**
   * Decodes one frame and emits its chunks.
   *
   * @param data The frame, parsed.
   * @param event The `event` field, where there is one.
   * @returns `'end'` when the frame is the protocol's own terminal mark: the response is complete.
   * @throws ProviderError for an error inside the stream.
   */
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- most decoders return nothing
  next(data: JsonObject, event?: string): void | 'end';
  /**
   * Decodes the end of the response: emits the `finish`, which was held for late usage.
   *
   * @param terminal Whether the protocol's terminal mark was seen (`[DONE]`, or `next` returned `'end'`).
   * @throws StreamInterruptedError when neither a finish reason nor a terminal mark was seen.
   */
  end(terminal: boolean): void;
  /**
   * Returns the path below the base URL where the server sends the rest of an interrupted response, with its query;
   * undefined if it has none. The rest is decoded by the same decoder. Default: none.
   */
  resumePath?(): string | undefined;
  /** Returns the usage that was reported so far, for a response that is stopped or fails. Default: none. */
  usage?(): Usage | undefined;
}

/** `none`: the result says that the model cannot be shown the file. */
export type ResultFilePlacement = 'result' | 'message' | 'none';

/**
 * A provider's HTTP API, as two pure functions over the shared protocol. Neither can forget to abort, retry or time
 * out, because neither does any I/O.
 */
export interface Wire {
  readonly framing: Framing;
  /**
   * Returns the reader of the response to a request that may have a `resumePath`: `joinResponse`. Default, and if it
   * returns undefined: an interrupted response is not resumed.
   */
  readonly resume?: (body: JsonObject) => ResponseJoiner | undefined;
  /**
   * Where the API accepts a file that a tool returned. `encode` receives a history with these files in their places.
   * Default: in the result.
   */
  readonly resultFile?: (file: FilePart) => ResultFilePlacement;
  /**
   * The messages with which the server reports a context that is too long, in addition to OpenAI's. The groups `limit`
   * and `tokens` are its numbers. Default: none.
   */
  readonly contextLengthPatterns?: readonly RegExp[] | undefined;
  encode(request: ModelRequest): WireRequest;
  /** `body` is that of the request. */
  decode(emit: (chunk: Chunk) => void, body?: JsonObject): Decoder;
}

type ResponseJoiner = (
  wire: Wire,
  read: (wire: Wire, resumePath?: string) => Observable<Chunk>,
  options?: RetryOptions | false,
) => Observable<Chunk>;
