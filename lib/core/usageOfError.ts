import { isWeakKey } from './json/json.js';
import { hasCounts, type Usage } from './usage.js';

const usages = new WeakMap<object, Usage>();

/** A usage without counts is ignored. */
export function setUsageOfError(error: unknown, usage: Usage | undefined): void {
  if (isWeakKey(error) && hasCounts(usage)) usages.set(error, usage);
}

/** Undefined if the provider had reported none. */
export const usageOfError = (error: unknown): Usage | undefined => (isWeakKey(error) ? usages.get(error) : undefined);
