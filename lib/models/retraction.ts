import type { RetractChunk } from '../core/chunk.js';
import { usageOfError } from '../core/usageOfError.js';

/**
 * The chunk that voids a failed attempt, with the usage that the provider had reported for it.
 *
 * @param error The error of the attempt.
 */
export function retraction(error: unknown): RetractChunk {
  const usage = usageOfError(error);
  return { type: 'retract', ...(usage ? { usage } : {}) };
}
