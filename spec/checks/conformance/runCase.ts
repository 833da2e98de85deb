import { isDeepStrictEqual } from 'node:util';
import { concatMap, defer, filter, firstValueFrom, from, map, take, takeWhile, tap, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { errorText } from '../../../lib/core/errors.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Body, Case } from './case.js';
import { differences } from './compare.js';
import type { Difference } from './compare.js';
import { observe } from './observe.js';
import type { Observation } from './observe.js';
import { defaultModel } from './providers.js';
import type { ModelFactory } from './providers.js';
import { serve } from './serve.js';
import type { VariantOptions } from './serve.js';
import { variantsOf } from './variants.js';
import type { Variant } from './variants.js';

/** The outcome of a case. */
export interface Outcome {
  readonly id: string;
  readonly wire: string | null;
  readonly source: string;
  readonly passed: boolean;
  /** The number of variants that were sent, and of those that failed. */
  readonly variants: number;
  readonly failedVariants: number;
  /** The variant of `observed`: the first that failed, or the original one. */
  readonly variant: string | null;
  readonly observed: Observation | null;
  readonly differences: readonly Difference[];
}

/** The run of one variant. */
interface Run {
  readonly variant: Variant;
  readonly observed: Observation;
  readonly differences: readonly Difference[];
}

/** A text that no server sends: redaction of the key never changes a response. */
const apiKey = 'conformance-key-4f1d9c7a';

/** The options of `runCase`. */
export interface RunOptions {
  /**
   * The time limit of one variant in milliseconds; the first that exceeds it is the last. Default: that of `observe`.
   */
  readonly limit?: number;
  /** The variants of a body; the others are compared with the first. Default: all. */
  readonly variants?: (body: Body) => readonly Variant[];
}

/**
 * Runs all variants of a case, and compares each with the expectation.
 *
 * @param one The case.
 * @param makeModel Makes the model that receives the response.
 * @param options The variants, and their time limit.
 */
export async function runCase(
  one: Case,
  makeModel: ModelFactory,
  { limit, variants: select = variantsOf }: RunOptions = {},
): Promise<Outcome> {
  const variants = select(one.body);
  const server = await serve(one.body, variants);
  try {
    const runs = from(variants).pipe(
      concatMap((variant) => runVariant(one, variant, makeModel, server.optionsFor(variant), limit)),
      takeWhile(({ observed: { hung } }) => hung === null, true),
    );
    return await firstValueFrom(combined(one, variants.length, runs));
  } finally {
    await server.close();
  }
}

function runVariant(
  one: Case,
  variant: Variant,
  makeModel: ModelFactory,
  served: VariantOptions,
  limit: number | undefined,
): Observable<Run> {
  const options = { ...served, apiKey, retry: false, thinkTags: one.thinkTags } as const;
  const request = { messages: [userMessage('Go on.')], ...(one.tools.length > 0 ? { tools: one.tools } : {}) };
  return defer(() => observe(makeModel(one.model ?? defaultModel(one.wire), options), request, limit)).pipe(
    map((actual) => ({ variant, observed: actual, differences: differences(one, actual) })),
  );
}

/**
 * Combines all variants into one outcome. Besides its expectation, every variant must have the same output as the
 * first.
 */
function combined(one: Case, variants: number, runs: Observable<Run>): Observable<Outcome> {
  let first: Run | undefined;
  return runs.pipe(
    tap((run) => (first ??= run)),
    map((run) =>
      first && run.differences.length === 0
        ? { ...run, differences: invariantDifferences(first.observed, run.observed) }
        : run,
    ),
    // The output of a variant that passed is no longer needed, except that of the first, for the report.
    filter((run, at) => at === 0 || run.differences.length > 0 || run.observed.hung !== null),
    toArray(),
    take(1),
    map((reportable): Outcome => {
      const failed = reportable.filter((run) => run.differences.length > 0);
      const reported = failed[0] ?? reportable[0];
      return {
        id: one.id,
        wire: one.wire,
        source: one.source,
        passed: failed.length === 0 && reported !== undefined,
        variants,
        failedVariants: failed.length,
        variant: reported?.variant.name ?? null,
        observed: reported?.observed ?? null,
        differences: reported?.differences ?? [],
      };
    }),
  );
}

const invariantFields = ['text', 'thinking', 'finishReason', 'usage', 'files', 'sources', 'metadata'] as const;

/** Compares the fields that no framing may change, even those without an expectation. */
function invariantDifferences(first: Observation, other: Observation): readonly Difference[] {
  const comparable = (of: Observation) => ({
    ...Object.fromEntries(invariantFields.map((field) => [field, of[field]])),
    toolCalls: of.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    error: of.error?.code ?? null,
  });
  const now: Readonly<Record<string, unknown>> = comparable(other);
  return Object.entries(comparable(first)).flatMap(([field, before]) =>
    isDeepStrictEqual(now[field], before)
      ? []
      : [{ field: `${field} (differs from the original framing)`, actual: now[field], expected: before }],
  );
}

/** The outcome of a case that cannot be run. */
export function notRun(id: string, source: string, wire: string | null, problem: unknown): Outcome {
  const differences = [
    {
      field: 'case',
      actual: typeof problem === 'string' ? problem : errorText(problem),
      expected: 'a case that can be run',
    },
  ];
  return {
    id,
    wire,
    source,
    passed: false,
    variants: 0,
    failedVariants: 0,
    variant: null,
    observed: null,
    differences,
  };
}
