import type { Chunk, FinishReason } from '../../core/chunk.js';
import type { JsonValue } from '../../core/json/json.js';
import type { OfType } from '../../core/typesOf.js';

/**
 * Reports an event, a block or a part of a type that the wire does not know, as the metadata `unknown`: an API may add
 * types at any time. That is not an error, but must not be invisible either.
 *
 * @param raw The object, as it was received.
 */
export const unknownChunk = (raw: JsonValue): OfType<Chunk, 'metadata'> => ({
  type: 'metadata',
  metadata: { unknown: raw },
});

/** Nobody answers an unknown kind of call: an end that looks normal would hide the call. */
export function unknownCallReason(reason: FinishReason): FinishReason {
  return reason === 'stop' || reason === 'toolCalls' || reason === 'unspecified' ? 'other' : reason;
}
