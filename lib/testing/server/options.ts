import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ScriptRequest } from '../script.js';

/** A request as the server got it. */
export interface ServedRequest {
  /** Its place in `server.requests`, from 0. */
  readonly order: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case; several values of a name joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON that was sent; the text if it was not JSON. */
  readonly body: JsonValue;
}

/** What the functions of a served script get. */
export interface ServedTurn extends ScriptRequest {
  /** The body of the request. */
  readonly body: JsonObject;
  /** The conversation in it, as the wire has it. */
  readonly messages: readonly JsonObject[];
  /**
   * The same conversation in our words, whatever the wire: instructions, texts, files, calls and results, neighbours of a role in one message. It is
   * what the wire tells: results are parsed where they are JSON (a text `"19"` is the number on most wires), calls without ids are numbered in the
   * order of the conversation (`call_1`), thinking and what only the provider understands are left out.
   */
  readonly history: readonly Message[];
}

/** How one request is answered. Frames are counted as the dialect writes them: on Chat Completions the first is the role, the last `[DONE]`. */
export interface Behaviour {
  /** Milliseconds between frames. Default: none. */
  readonly delay?: number;
  /**
   * How the bytes are cut into writes: a number of bytes for each (1: one by one; Infinity: all in one), or the offsets in the body at which it is
   * cut. A write that is not full waits for the next frame. Default: each frame is one write.
   */
  readonly cut?: number | readonly number[];
  /** The socket is destroyed after so many frames; 0: before the status line. An answer that has fewer ends as usual. */
  readonly reset?: number;
  /** Nothing more is said after so many frames, until the client leaves; 0: not even a status line. An answer that has fewer ends as usual. */
  readonly silent?: number;
  /** The body ends, as if it were whole, after so many frames. */
  readonly endEarly?: number;
  /** The frames as they are, each in one write, in place of the script; at any path. `''` sends the headers alone. */
  readonly raw?: readonly (string | Uint8Array)[];
  /** Headers of every answer, over the server's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The HTTP status. From 400 on, without `raw`, an error body is sent and the script keeps its turn. Default: 200. */
  readonly status?: number;
  /** The error body of such a status. Default: what OpenAI sends. */
  readonly body?: string | JsonObject;
  /** Line ends of server-sent events. Default: `\n`. */
  readonly lineEnds?: '\n' | '\r\n' | '\r';
  /** Comments before each event and after the last one (OpenRouter sends `OPENROUTER PROCESSING`). Default: none. */
  readonly comments?: string;
  /** The `event:` field. `true`: the dialect's name for each, `message` where it has none; a text: that one; `false`: none. Default: the dialect's. */
  readonly eventNames?: boolean | string;
}

/** The first requests fail. */
export interface FirstFailures {
  /** The HTTP status: 429, 500, ... */
  readonly status: number;
  /** How many requests. Default: 1. */
  readonly times?: number;
  /** The `Retry-After` header: seconds, or a date. Default: none. */
  readonly retryAfter?: number | string;
  /** The error body. Default: what OpenAI sends. */
  readonly body?: string | JsonObject;
}

/** Settings of a loopback server. */
export interface ServeOptions extends Behaviour {
  /** The key that is accepted, where the dialect's provider has it in a request; without it, a request is answered with 401. Default: any, or none. */
  readonly apiKey?: string;
  /** The first requests fail, then the script begins. Default: none fails. */
  readonly failFirst?: FirstFailures;
  /** What is different for one request: a list (the first is for the first request), or a function of the request. */
  readonly forRequest?: readonly (Behaviour | undefined)[] | ((request: ServedRequest) => Behaviour | undefined);
}

/** The behaviour for one request: the server's, and over it the request's own. */
export function behaviourFor(options: ServeOptions, request: ServedRequest): Behaviour {
  const { forRequest } = options;
  return { ...options, ...(typeof forRequest === 'function' ? forRequest(request) : forRequest?.[request.order]) };
}
