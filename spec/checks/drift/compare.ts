/** Values that a wire leaves out on purpose, or reads without naming them. */
export interface LeftOut {
  readonly reason: string;
  /** The values, or a pattern of them. */
  readonly values: readonly string[] | RegExp;
}

/** A type of an SDK whose values a wire has to know. */
interface Union {
  /** What the values are: `events`, `finish reasons`. */
  readonly what: string;
  /** A TypeScript type: its string literals are the values. */
  readonly type: string;
  /**
   * Whether the wire knows a value, although it is neither a string nor the name of a property in the wire's files:
   * families of models, patterns. Default: it does not.
   */
  readonly isKnown?: (value: string) => boolean;
  /** Default: nothing is left out. */
  readonly leftOut?: readonly LeftOut[];
}

/** A wire, and the types of the vendor's SDK that describe it. */
export interface DriftWire {
  readonly name: string;
  /** The name of the SDK's package. */
  readonly sdk: string;
  /** The wire's files and folders, below `lib`. */
  readonly files: readonly string[];
  readonly unions: readonly Union[];
}

/** What is wrong with one union. */
export interface Drift {
  /** Values that are neither known nor left out: they are new. */
  readonly unexplained: readonly string[];
  /** What is listed as left out, although the wire knows it, or the SDK no longer has it. */
  readonly stale: readonly string[];
}

/**
 * Compares the values of an SDK with those that a wire knows or leaves out.
 *
 * @param values The values of the SDK.
 * @param isKnown Whether the wire knows a value.
 * @param leftOut What the wire leaves out. Default: nothing.
 */
export function compare(
  values: readonly string[],
  isKnown: (value: string) => boolean,
  leftOut: readonly LeftOut[] = [],
): Drift {
  const unknown = values.filter((value) => !isKnown(value));
  const isListed = (value: string) =>
    leftOut.some(({ values: listed }) => (listed instanceof RegExp ? listed.test(value) : listed.includes(value)));
  const staleIn = ({ values: listed }: LeftOut) =>
    listed instanceof RegExp
      ? [String(listed)].filter(() => !unknown.some((value) => listed.test(value)))
      : listed.filter((value) => !unknown.includes(value));
  return { unexplained: unknown.filter((value) => !isListed(value)), stale: leftOut.flatMap(staleIn) };
}
