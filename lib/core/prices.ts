import { optionsError } from './errors.js';
import { requireOptions } from './requireOptions.js';
import type { Usage } from './usage.js';

/** The prices of a model, per million tokens, in any currency. */
export interface Prices {
  /** Prompt tokens that are neither read from a cache nor written to it. */
  readonly input: number;
  /** Generated tokens, including reasoning. */
  readonly output: number;
  /** Prompt tokens read from a cache. Default: the price of `input`. */
  readonly cachedInput?: number | undefined;
  /** Prompt tokens written to a cache. Default: the price of `input`. */
  readonly cacheWriteInput?: number | undefined;
  /** Prompt tokens written for the longer of two lifetimes. Default: the price of `cacheWriteInput`. */
  readonly longCacheWriteInput?: number | undefined;
}

/**
 * The cost of a usage. A count that is unknown costs nothing.
 *
 * ```ts
 * costOf(result.usage, { input: 3, output: 15, cachedInput: 0.3, cacheWriteInput: 3.75, longCacheWriteInput: 6 });
 * ```
 *
 * @param usage The usage of a turn or a run.
 * @param prices The prices per million tokens. The library contains none: they change too often.
 * @returns The cost, in the currency of the prices.
 */
export function costOf(usage: Usage, prices: Prices): number {
  const { input = 0, output = 0, cachedInput = 0, cacheWriteInput = 0, longCacheWriteInput = 0 } = usage;
  const shortWrite = prices.cacheWriteInput ?? prices.input;
  const uncached = Math.max(0, input - cachedInput - cacheWriteInput); // `input` includes both
  const cost =
    uncached * prices.input +
    cachedInput * (prices.cachedInput ?? prices.input) +
    (cacheWriteInput - longCacheWriteInput) * shortWrite +
    longCacheWriteInput * (prices.longCacheWriteInput ?? shortWrite) +
    output * prices.output;
  return cost / 1_000_000;
}

/** Without both, a cost would be NaN, which is never as much as a budget. */
export function requirePrices(owner: string, prices: Partial<Prices>): void {
  requireOptions(owner, prices, {
    input: 'number',
    output: 'number',
    cachedInput: 'number',
    cacheWriteInput: 'number',
    longCacheWriteInput: 'number',
  });
  if (prices.input !== undefined && prices.output !== undefined) return;
  throw optionsError(`${owner} have no \`input\` or no \`output\`.`, 'Pass both, in dollars.');
}
