import { isWeakKey } from './json/json.js';
import { hasCounts } from './usage.js';
import type { Usage } from './usage.js';

const usages = new WeakMap<object, Usage>();

/** Records the usage that the provider had reported when a response failed. A usage without counts is ignored. */
export function setUsageOfError(error: unknown, usage: Usage | undefined): void {
  if (isWeakKey(error) && hasCounts(usage)) usages.set(error, usage);
}

/** The usage of the response that failed with this error; undefined if the provider had reported none. */
export const usageOfError = (error: unknown): Usage | undefined => (isWeakKey(error) ? usages.get(error) : undefined);
