import type { Chunk } from './chunk.js';
import { isWeakKey } from './json/json.js';
import { addUsage } from './usage.js';
import type { Usage } from './usage.js';

/** What a response had received, but not emitted, when it was unsubscribed. */
export interface Remainder {
  /** The text that filters held back, oldest first. */
  readonly chunks: Chunk[];
  /** The usage that the provider had reported; undefined if it had reported none. */
  usage: Usage | undefined;
}

/**
 * The remainder that is being collected. RxJS runs teardown functions synchronously, through any operators in between,
 * so this variable is set only while `collectRemainder` unsubscribes.
 */
let collecting: Remainder | undefined;

/**
 * Unsubscribes a model's stream, and collects what its decoder and its filters had not emitted yet.
 *
 * @param remainder Receives what they had not emitted.
 * @param unsubscribe Unsubscribes the stream.
 */
export function collectRemainder(remainder: Remainder, unsubscribe: () => void): void {
  const outer = collecting;
  collecting = remainder;
  try {
    unsubscribe();
  } finally {
    collecting = outer;
  }
}

/**
 * Leaves a chunk that was held back. Call it on teardown, before the source is torn down: what a filter holds is older
 * than what its source holds.
 */
export function leaveChunk(chunk: Chunk): void {
  collecting?.chunks.push(chunk);
}

/** Leaves the usage that the provider has reported so far. Call it on teardown. A usage without counts is ignored. */
export function leaveUsage(usage: Usage | undefined): void {
  if (collecting && hasCounts(usage)) collecting.usage = collecting.usage ? addUsage(collecting.usage, usage) : usage;
}

const usages = new WeakMap<object, Usage>();

/** Records the usage that the provider had reported when a response failed. A usage without counts is ignored. */
export function setUsageOfError(error: unknown, usage: Usage | undefined): void {
  if (isWeakKey(error) && hasCounts(usage)) usages.set(error, usage);
}

/** The usage of the response that failed with this error; undefined if the provider had reported none. */
export const usageOfError = (error: unknown): Usage | undefined => (isWeakKey(error) ? usages.get(error) : undefined);

const hasCounts = (usage: Usage | undefined): usage is Usage => usage !== undefined && Object.keys(usage).length > 0;
