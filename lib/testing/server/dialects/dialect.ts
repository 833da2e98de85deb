import type { Chunk } from '../../../core/chunk.js';
import { ConfigurationError } from '../../../core/errors.js';
import { isRecord, nonEmptyString, omitUndefined, type JsonObject } from '../../../core/json/json.js';
import type { Message } from '../../../core/message.js';
import type { Usage } from '../../../core/usage.js';

export interface DialectFrame {
  readonly data: string;
  readonly event?: string;
}

export interface CachedPrompt {
  /** What separates caches: prompts of different scopes share nothing. */
  readonly scope: string;
  readonly blocks: readonly CachedBlock[];
  /** How many blocks before a breakpoint the provider looks for a prefix that it has. */
  readonly lookBack: number;
}

interface CachedBlock {
  readonly text: string;
  /** How long the prefix that ends here is kept after its last use, in milliseconds. Default: no breakpoint. */
  readonly lifetime?: number;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code?: string;
  readonly param?: string;
}

export const refusal = (type: string, message: string, code?: string): Refusal =>
  omitUndefined({ status: 400, type, message, code });

export const providerCodeOf = (error: unknown): string | undefined =>
  isRecord(error) ? nonEmptyString(error['providerCode']) : undefined;

export const typedFrame = (type: string, fields: JsonObject = {}): DialectFrame => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
});

export interface DialectWriter {
  /** Throws a ConfigurationError `script` for a chunk that the API cannot express. */
  next(chunk: Chunk): readonly DialectFrame[];
  error(error: unknown): readonly DialectFrame[];
  /** The frames that end the response: usage and terminal mark. Empty if the model never finished. */
  end(): readonly DialectFrame[];
}

/**
 * The server side of one provider's wire, as pure functions. The server does the I/O, so that the response of any
 * dialect can be split, reset and delayed in the same way.
 */
export interface Dialect {
  /** How frames are delimited: server-sent events, or one JSON document a line. */
  readonly framing: 'sse' | 'ndjson';
  readonly contentType: string;
  /** The path of the base URL for each provider that uses the dialect: `{ openai: '/v1' }`. */
  readonly bases: Readonly<Record<string, string>>;
  /** Whether requests to this path (without the query) are in this dialect. */
  serves(path: string): boolean;
  /** The API key in the headers of a request (names in lower case). Default: the token of `Authorization: Bearer`. */
  keyIn?(headers: Readonly<Record<string, string>>): string | undefined;
  /** Why a real server would refuse the body or the headers; undefined if it would not. */
  refusal(body: unknown, headers?: Readonly<Record<string, string>>, path?: string): Refusal | undefined;
  /** The messages in a body that was not refused, in the wire's own format. */
  messages(body: JsonObject): readonly JsonObject[];
  /** The same conversation as `Message`s, for any body. */
  history(body: JsonObject): readonly Message[];
  /** Creates the dialect of one server, if it stores earlier responses. Default: the dialect has no state. */
  perServer?(): Dialect;
  /** The prompt of a request, as the provider's prompt cache sees it. Default: the provider has none. */
  promptOf?(body: JsonObject): CachedPrompt;
  /** Begins a response. `turn` is its number, from 1. */
  writer(exchange: { readonly turn: number; readonly path: string; readonly body: JsonObject }): DialectWriter;
  /** The id under which the server keeps a response, so that its rest can be requested. Default: it keeps none. */
  keptId?(exchange: { readonly turn: number; readonly body: JsonObject }): string | undefined;
  /** Reads a request for the rest of a kept response: its id, and which frames the rest has. Default: none. */
  restOf?(request: {
    readonly method: string;
    readonly path: string;
  }): { readonly id: string; readonly includes: (frame: DialectFrame) => boolean } | undefined;
  errorBody(refusal: Refusal): JsonObject;
}

export function unsupportedChunk(api: string, { type }: Chunk, condition = ''): ConfigurationError {
  return new ConfigurationError(
    'script',
    `The ${api} cannot express a "${type}" chunk${condition}.`,
    'Omit it from a script for this server, play it with scriptedModel, or pass the frames with the option raw.',
  );
}

export const totalOf = ({ input, output, total }: Usage): number | undefined =>
  total ?? (input === undefined || output === undefined ? undefined : input + output);
