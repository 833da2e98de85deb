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

const counts = ['input', 'output', 'total', 'cachedInput', 'cacheWriteInput', 'reasoning'] as const;

/** A usage of what is known: absent counts leave no key behind. */
export function usageOf(known: { readonly [count in (typeof counts)[number]]?: number | undefined }): Usage {
  const total = known.total ?? (known.input !== undefined && known.output !== undefined ? known.input + known.output : undefined);
  return Object.fromEntries(counts.map((count) => [count, count === 'total' ? total : known[count]]).filter(([, value]) => value !== undefined));
}

/**
 * Adds two usages field by field. A count unknown on both sides stays unknown; known on one side, it is that side's.
 *
 * @param a Usage of earlier turns; undefined adds nothing.
 * @param b Usage to add; undefined adds nothing.
 * @returns A new usage; neither argument is changed.
 */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  const sum = (count: (typeof counts)[number]) => {
    const [x, y] = [a?.[count], b?.[count]];
    return x === undefined ? y : x + (y ?? 0);
  };
  return Object.fromEntries(counts.map((count) => [count, sum(count)]).filter(([, value]) => value !== undefined));
}
