import { throwError, type Observable } from 'rxjs';
import type { Chunk, RetryChunk } from '../core/chunk.js';
import { errorText, errorToJson, isRetryable, StreamInterruptedError } from '../core/errors.js';
import { nonEmptyString, objectOrEmpty } from '../core/json/json.js';
import { continueAfterError } from './continueAfterError.js';
import { announceRetry, retryDelay, type RetryOptions } from './retryRequest.js';
import type { Decoder, Wire } from './wire.js';

/**
 * Reads a response that the server continues to produce when the connection breaks, over as many connections as it
 * takes: after an interruption, the rest is requested, and decoded by the same decoder.
 *
 * ```
 * 1st connection  --a-b#
 * the rest               --c-|
 * result          --a-b-r--c-|   r: a retry chunk
 * ```
 *
 * @param wire The wire. Its decoder says with `resumePath` whether, and where, the rest can be requested.
 * @param read Reads a connection with the given wire: the response itself, or the rest at a path.
 * @param options How often the rest is requested without any progress; false: never.
 * @returns The chunks of all connections. If the rest cannot be requested, it fails with a StreamInterruptedError that
 * is not `retryable`: to send the request again would create, and bill, a second response.
 */
export function joinResponse(
  wire: Wire,
  read: (wire: Wire, resumePath?: string) => Observable<Chunk>,
  options: RetryOptions | false = {},
): Observable<Chunk> {
  const { count = 3, ...delays } = options === false ? { count: 0 } : options;
  let emit: (chunk: Chunk) => void = () => undefined;
  let decoder: Decoder | undefined;
  let lastPath: string | undefined;
  let attempts = 0;
  const joined: Wire = {
    ...wire,
    decode(emitNext) {
      emit = emitNext;
      return (decoder ??= wire.decode((chunk) => emit(chunk)));
    },
  };
  const resume = (error: unknown): Observable<Chunk | RetryChunk> | undefined => {
    const path = isRetryable(error) ? decoder?.resumePath?.() : undefined;
    if (path === undefined) return undefined;
    attempts = path === lastPath ? attempts + 1 : 0;
    lastPath = path;
    const delay = attempts < count ? retryDelay(error, attempts, delays) : undefined;
    const retry = { attempt: attempts + 1, delay, error: errorToJson(error) };
    return announceRetry<Chunk>(read(joined, path), retry) ?? throwError(() => createLostError(error));
  };
  return read(joined).pipe(continueAfterError<Chunk>(() => resume));
}

function createLostError(cause: unknown): StreamInterruptedError {
  const provider = nonEmptyString(objectOrEmpty(cause)['provider']) ?? 'the provider';
  const problem = `The connection to a response was lost, and its rest could not be read: ${errorText(cause)}`;
  const advice = `${provider} continues to produce, and bills, this response: look for it there before you ask again.`;
  return Object.assign(new StreamInterruptedError(provider, `${problem} ${advice}`, { cause }), { retryable: false });
}
