/**
 * Tokens of a turn or a run. `input` includes `cachedInput` and `cacheWriteInput`; `output` includes `reasoning`, whatever the provider
 * counts. A count that the provider does not report is absent: unknown is not 0.
 */
export interface Usage {
  /** All prompt tokens, cached ones included. */
  readonly input?: number;
  /** All generated tokens, reasoning included. */
  readonly output?: number;
  /** As the provider reports it, or input + output. */
  readonly total?: number;
  /** Prompt tokens read from a cache. */
  readonly cachedInput?: number;
  /** Prompt tokens written to a cache. */
  readonly cacheWriteInput?: number;
  /** Generated tokens spent on reasoning. */
  readonly reasoning?: number;
}

type Counts = { readonly [Count in keyof Usage]?: number | undefined };

/** A usage of what is known: absent counts leave no key behind; the total is the sum where the provider gives none. */
export function usageOf(known: Counts): Usage {
  const total =
    known.total ?? (known.input !== undefined && known.output !== undefined ? known.input + known.output : undefined);
  return picked((count) => (count === 'total' ? total : known[count]));
}

/**
 * Adds two usages field by field. A count unknown on both sides stays unknown; known on one side, it is that side's.
 *
 * @param a Usage of earlier turns; undefined adds nothing.
 * @param b Usage to add; undefined adds nothing.
 * @returns A new usage; neither argument is changed.
 */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  const sum = (count: keyof Usage) => (a?.[count] === undefined ? b?.[count] : a[count] + (b?.[count] ?? 0));
  return picked(sum);
}

const counts: readonly (keyof Usage)[] = ['input', 'output', 'total', 'cachedInput', 'cacheWriteInput', 'reasoning'];

/** The counts that are known. */
function picked(countOf: (count: keyof Usage) => number | undefined): Usage {
  const usage: { -readonly [Count in keyof Usage]: Usage[Count] } = {};
  for (const count of counts) {
    const known = countOf(count);
    if (known !== undefined) usage[count] = known;
  }
  return usage;
}
