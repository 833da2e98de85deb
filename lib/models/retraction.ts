import type { RetractChunk } from '../core/chunk.js';
import { usageOfError } from '../core/usageOfError.js';

/** Has the usage that the provider had reported. Without chunks and usage, nothing is to be retracted. */
export function retraction(error: unknown, hasEmitted: boolean): readonly RetractChunk[] {
  const usage = usageOfError(error);
  if (!hasEmitted && !usage) return [];
  return [{ type: 'retract', ...(usage ? { usage } : {}) }];
}
