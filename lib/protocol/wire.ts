import type { Chunk } from '../core/chunk.js';
import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { Request } from '../core/model.js';

/** How frames are delimited in the body: server-sent events, or one JSON document a line. */
export type Framing = 'sse' | 'ndjson';

/** One frame of a streamed body, its delimiters removed. */
export interface Frame {
  readonly data: string;
  /** The `event:` field of a server-sent event, where there is one. */
  readonly event?: string | undefined;
  /** The body ended before the frame was delimited: it may be cut. */
  readonly unterminated?: true;
}

/** Cuts a body into frames: pure, no I/O, state of one body. What it throws ends the answer. */
export interface FrameReader {
  /** Takes the next bytes, however they are cut. */
  push(bytes: Uint8Array): void;
  /** The body has ended. */
  end(): void;
}

/** What a provider puts on the wire for a request. */
export interface WireRequest {
  /** Below the base URL, beginning with a slash. */
  readonly path: string;
  /** The provider's own headers beside content type, accept and key. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** What the body holds that no error may show: tokens for services that the provider calls. Default: nothing. */
  readonly secrets?: readonly string[];
  /**
   * What to send instead, if the request failed with this error before its first chunk: one that does without what the server no longer has
   * (a response it was to go on from, a container). It is a request of its own, with retries of its own. Default, and undefined: nothing, the error
   * stands.
   */
  readonly fallback?: (error: unknown) => WireRequest | undefined;
}

/** Reads one answer: pure, no I/O, state of one stream. */
export interface Decoder {
  /**
   * Takes one frame's JSON and emits its chunks.
   *
   * @param data The frame, parsed.
   * @param event The `event:` field, where there is one.
   * @returns `'end'` when the frame is the protocol's own terminal mark: nothing of the answer follows.
   * @throws ProviderError for an error inside the stream.
   */
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- most decoders return nothing
  next(data: JsonObject, event?: string): void | 'end';
  /**
   * The answer has ended: emits the finish, which was held for late usage.
   *
   * @param terminal Whether the protocol's terminal mark was seen (`[DONE]`, or `next` returned `'end'`).
   * @throws StreamInterruptedError when neither a finish reason nor a terminal mark came.
   */
  end(terminal: boolean): void;
}

/** A provider's dialect: two pure functions over the shared protocol. It cannot forget to abort, retry or time out, because it does no I/O. */
export interface Wire {
  readonly framing: Framing;
  /**
   * Whether a message must not be merged with a neighbour of its role, because what it holds for the provider stands for it alone (the id of a stored
   * response: what came before it, and what after?). Default: none.
   */
  readonly isUnmergeable?: (message: Message) => boolean;
  encode(request: Request): WireRequest;
  decode(emit: (chunk: Chunk) => void): Decoder;
}
