import type { MetadataChunk } from '../../core/chunk.js';
import type { JsonValue } from '../../core/json/json.js';

/**
 * Reports an event, a block or a part of a type that the wire does not know, as the metadata `unknown`: an API may add
 * types at any time, which is no error, but must not be invisible.
 *
 * @param raw The object, as it was received.
 */
export const unknownChunk = (raw: JsonValue): MetadataChunk => ({ type: 'metadata', metadata: { unknown: raw } });
