import type { Observable } from 'rxjs';
import type { Chunk, RetryChunk } from '../core/chunk.js';
import { errorToJson, isRetryable } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
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
 * @returns The chunks of all connections.
 */
export function joinResponse(
  wire: Wire,
  read: (wire: Wire, resumePath?: string) => Observable<Chunk>,
  options: RetryOptions | false = {},
): Observable<Chunk> {
  if (options === false) return read(wire);
  const { count = 3 } = options;
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
    const isInterruption = isRetryable(error) && isRecord(error) && error['code'] !== 'provider';
    const path = isInterruption ? decoder?.resumePath?.() : undefined;
    if (path === undefined) return undefined;
    attempts = path === lastPath ? attempts + 1 : 0;
    lastPath = path;
    if (attempts >= count) return undefined;
    const retry = { attempt: attempts + 1, delay: retryDelay(error, attempts, options), error: errorToJson(error) };
    return announceRetry<Chunk>(read(joined, path), retry);
  };
  return read(joined).pipe(continueAfterError<Chunk>(() => resume));
}
