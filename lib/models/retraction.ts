import type { RetractChunk } from '../core/chunk.js';
import { usageOfError } from '../core/usageOfError.js';

/**
 * The chunk that voids a failed attempt, with the usage that the provider had reported for it. An attempt that has
 * neither emitted anything nor a usage needs none.
 *
 * @param error The error of the attempt.
 * @param hasEmitted Whether the attempt has emitted what is void now.
 */
export function retraction(error: unknown, hasEmitted: boolean): readonly RetractChunk[] {
  const usage = usageOfError(error);
  if (!hasEmitted && !usage) return [];
  return [{ type: 'retract', ...(usage ? { usage } : {}) }];
}
