/**
 * The token counts of a turn or a run. For every provider, `input` includes `cachedInput` and `cacheWriteInput`, and
 * `output` includes `reasoning`. A count that the provider does not report is absent: an unknown count is not 0.
 */
export interface Usage {
  /** All prompt tokens, including cached tokens. */
  readonly input?: number;
  /** All generated tokens, including reasoning. */
  readonly output?: number;
  /** The provider's total, or input + output. In turns and runs, a reported total is at least input + output. */
  readonly total?: number;
  /** Prompt tokens read from a cache. */
  readonly cachedInput?: number;
  /** Prompt tokens written to a cache. */
  readonly cacheWriteInput?: number;
  /** The part of `cacheWriteInput` that is written for the longer of two lifetimes (1 hour, 12 hours). */
  readonly longCacheWriteInput?: number;
  /** Generated tokens spent on reasoning. */
  readonly reasoning?: number;
  /** What the tokens cost. Only with `priceModel`, in the currency of its prices. */
  readonly cost?: number;
}

type Counts = { readonly [Count in keyof Usage]?: number | undefined };

/**
 * Creates a usage from the known counts; unknown counts are omitted. If the provider does not report the total, it is
 * the sum of input and output.
 */
export function usageOf(known: Counts): Usage {
  const total =
    known.total ?? (known.input !== undefined && known.output !== undefined ? known.input + known.output : undefined);
  return addUsage(undefined, { ...known, total });
}

/**
 * Adds two usages field by field. A count that is unknown in both usages stays unknown. If it is known in only one
 * usage, the sum is that count.
 *
 * @param a Usage of earlier turns; undefined adds nothing.
 * @param b Usage to add; undefined adds nothing.
 * @returns A new usage; neither argument is changed.
 */
export function addUsage(a: Counts | undefined, b: Counts | undefined): Usage {
  const usage: { -readonly [Count in keyof Usage]: Usage[Count] } = {};
  for (const count of counts) {
    const tokens = a?.[count] === undefined ? b?.[count] : a[count] + (b?.[count] ?? 0);
    if (tokens !== undefined) usage[count] = tokens;
  }
  return usage;
}

/**
 * Tools, models and servers report anything: with NaN, less than 0, or a total that is less than its parts, no budget
 * would end a run. A sum that has become infinite stays infinite.
 */
export function validUsage(usage: Usage | undefined): Usage {
  const isValid = (tokens: number) => Number.isFinite(tokens) && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER;
  const entries = Object.entries({ ...usage }).filter(([, tokens]) => isValid(tokens));
  const valid: Usage = Object.fromEntries(entries);
  const { input = 0, output = 0, total } = usageOf(valid);
  if (usage?.total === undefined || total === undefined) return valid;
  return { ...valid, total: Math.max(total, input + output) };
}

/** The counts below zero, so that `addUsage` subtracts them. */
export const negative = (usage: Usage): Usage =>
  Object.fromEntries(Object.entries(usage).map(([count, tokens]: [string, number]) => [count, -tokens]));

export function sumUsages(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const sum = usages.reduce<Usage>(addUsage, {});
  return hasCounts(sum) ? sum : undefined;
}

export const hasCounts = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && Object.keys(usage).length > 0;

const counts: readonly (keyof Usage)[] = [
  'input',
  'output',
  'total',
  'cachedInput',
  'cacheWriteInput',
  'longCacheWriteInput',
  'reasoning',
  'cost',
];
