import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ScriptRequest } from '../script.js';
import { requireNumber } from '../../core/options.js';

/** A request as the server received it. */
export interface ServedRequest {
  /** Its index in `server.requests`. */
  readonly order: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case; several values of a name joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON that was sent; the text if it was not JSON. */
  readonly body: JsonValue;
}

/** The argument of a script's functions. */
export interface ServedTurn extends ScriptRequest {
  /** The body of the request. */
  readonly body: JsonObject;
  /** The messages in the body, in the wire's own format. */
  readonly messages: readonly JsonObject[];
  /**
   * The same conversation as `Message`s, for every wire: instructions, texts, files, calls and results; adjacent
   * messages of a role are one. It holds what the wire holds: results are parsed where they are JSON (the text `"19"`
   * is a number on most wires), calls without ids are numbered in the order of the conversation (`call_1`), thinking
   * and provider data are omitted.
   */
  readonly history: readonly Message[];
}

/**
 * How one request is answered. Frames are counted as the dialect writes them: on Chat Completions the first one is the
 * role, the last one `[DONE]`.
 */
export interface Behaviour {
  /** Milliseconds between frames. Default: none. */
  readonly delay?: number;
  /**
   * How the bytes are split into writes: the number of bytes of each write (1: byte by byte; Infinity: all in one), or
   * the offsets in the body at which it is split. Bytes that do not fill a write are held until the next frame.
   * Default: each frame is one write.
   */
  readonly cut?: number | readonly number[];
  /**
   * The socket is destroyed after this many frames; 0: before the status line. A response with fewer frames ends as
   * usual.
   */
  readonly reset?: number;
  /**
   * The server sends nothing more after this many frames, until the client disconnects; 0: not even a status line. A
   * response with fewer frames ends as usual.
   */
  readonly silent?: number;
  /** The body ends after this many frames, as if it were complete. */
  readonly endEarly?: number;
  /**
   * Frames to send unchanged instead of the script, each in one write, whatever path was requested. `''` sends the
   * headers only.
   */
  readonly raw?: readonly (string | Uint8Array)[];
  /** Headers of every response. They override the server's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The HTTP status. From 400 on, and without `raw`, an error body is sent and the script does not advance. Default:
   * 200.
   */
  readonly status?: number;
  /** The error body that is sent if `status` is 400 or higher. Default: OpenAI's. */
  readonly body?: string | JsonObject;
  /** Line ends of server-sent events. Default: `\n`. */
  readonly lineEnds?: '\n' | '\r\n' | '\r';
  /** Comments before each event and after the last one (OpenRouter sends `OPENROUTER PROCESSING`). Default: none. */
  readonly comments?: string;
  /**
   * The `event:` field. `true`: the dialect's name of each event, or `message`; a string: that name; `false`: no field.
   * Default: the dialect's name, if any.
   */
  readonly eventNames?: boolean | string;
}

/** The first requests fail. */
interface FirstFailures {
  /** The HTTP status: 429, 500, ... */
  readonly status: number;
  /** How many requests. Default: 1. */
  readonly times?: number;
  /** The `Retry-After` header: seconds, or a date. Default: none. */
  readonly retryAfter?: number | string;
  /** The error body. Default: OpenAI's. */
  readonly body?: string | JsonObject;
}

/** Settings of a loopback server. */
export interface ServeOptions extends Behaviour {
  /** The port of 127.0.0.1 on which the server listens. Default: a free one. */
  readonly port?: number;
  /**
   * The only accepted key. A request with another one, or without a key, is answered with 401. Default: every request
   * is accepted.
   */
  readonly apiKey?: string;
  /**
   * Whether usages say what the provider's prompt cache would: on the Messages API by its breakpoints, on OpenAI's APIs
   * by the longest prefix that an earlier request had. A token is counted for 4 characters of JSON. Default: false.
   */
  readonly promptCache?: boolean;
  /** The first requests fail, then the script begins. Default: no request fails. */
  readonly failFirst?: FirstFailures;
  /**
   * Different behaviour for single requests: an array (one element per request, in order), or a function of the
   * request.
   */
  readonly forRequest?: readonly (Behaviour | undefined)[] | ((request: ServedRequest) => Behaviour | undefined);
}

export function behaviourFor(options: ServeOptions, request: ServedRequest): Behaviour {
  const { forRequest } = options;
  const own = typeof forRequest === 'function' ? forRequest(request) : forRequest?.[request.order];
  if (own) requireBehaviour(own);
  return { ...options, ...own };
}

export function requireBehaviour({ delay, reset, silent, endEarly, status, cut }: Behaviour): void {
  for (const [name, value] of Object.entries({ delay, reset, silent, endEarly })) requireNumber(name, value, 0);
  requireNumber('status', status, 200, 599);
  if (!Array.isArray(cut)) requireNumber('cut', cut, 1);
}
