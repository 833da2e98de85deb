import type { RetractChunk } from '../core/chunk.js';
import { usageOfError } from '../core/usageOfError.js';

/** With the usage that the provider had reported. An attempt without either needs no chunk. */
export function retraction(error: unknown, hasEmitted: boolean): readonly RetractChunk[] {
  const usage = usageOfError(error);
  if (!hasEmitted && !usage) return [];
  return [{ type: 'retract', ...(usage ? { usage } : {}) }];
}
