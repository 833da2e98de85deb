import { isDeepStrictEqual } from 'node:util';
import { concatMap, defer, filter, firstValueFrom, from, map, take, takeWhile, tap, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { errorText } from '../../lib/core/errors.js';
import { userMessage } from '../../lib/core/message.js';
import type { Body, Case } from './case.js';
import { differences } from './compare.js';
import type { Difference } from './compare.js';
import { observe } from './observe.js';
import type { Observation } from './observe.js';
import { defaultModel } from './providers.js';
import type { ModelFactory } from './providers.js';
import { serve } from './serve.js';
import type { Reach } from './serve.js';
import { variantsOf } from './variants.js';
import type { Variant } from './variants.js';

/** What became of a case. */
export interface Outcome {
  readonly id: string;
  readonly wire: string | null;
  readonly source: string;
  readonly passed: boolean;
  /** Ways in which it was sent, and how many of them were wrong. */
  readonly variants: number;
  readonly failedVariants: number;
  /** The way in which it was sent when this was observed: the first that was wrong, or the wire's own. */
  readonly variant: string | null;
  readonly observed: Observation | null;
  readonly differences: readonly Difference[];
}

/** One variant, run. */
interface Run {
  readonly variant: Variant;
  readonly observed: Observation;
  readonly differences: readonly Difference[];
}

/** No word that a server would send: what is redacted as a key is nothing of the answer. */
const apiKey = 'conformance-key-4f1d9c7a';

/** How a case is run. */
export interface RunOptions {
  /** How long one variant may take, in milliseconds; the first that takes longer is the last. Default: that of `observe`. */
  readonly limit?: number;
  /** The ways to send a body, the one first that the others are compared with. Default: all. */
  readonly variants?: (body: Body) => readonly Variant[];
}

/**
 * Runs a case in all its variants, and judges each.
 *
 * @param one The case.
 * @param makeModel Makes the model that reads it.
 * @param options What is run, and how long.
 */
export async function runCase(
  one: Case,
  makeModel: ModelFactory,
  { limit, variants: some = variantsOf }: RunOptions = {},
): Promise<Outcome> {
  const variants = some(one.body);
  const serving = await serve(one.body, variants);
  try {
    const runs = from(variants).pipe(
      concatMap((variant) => observed(one, variant, makeModel, serving.reach(variant), limit)),
      takeWhile(({ observed: { hung } }) => hung === null, true),
    );
    return await firstValueFrom(judged(one, variants.length, runs));
  } finally {
    await serving.close();
  }
}

function observed(
  one: Case,
  variant: Variant,
  makeModel: ModelFactory,
  reach: Reach,
  limit: number | undefined,
): Observable<Run> {
  const options = { ...reach, apiKey, retry: false, thinkTags: one.thinkTags } as const;
  const request = { messages: [userMessage('Go on.')], ...(one.tools.length > 0 ? { tools: one.tools } : {}) };
  return defer(() => observe(makeModel(one.model ?? defaultModel(one.wire), options), request, limit)).pipe(
    map((came) => ({ variant, observed: came, differences: differences(one, came) })),
  );
}

/** The verdict over all variants. Beside what is due, every variant has to come out as the first one did. */
function judged(one: Case, variants: number, runs: Observable<Run>): Observable<Outcome> {
  let first: Run | undefined;
  return runs.pipe(
    tap((run) => (first ??= run)),
    map((run) =>
      first && run.differences.length === 0 ? { ...run, differences: unlike(first.observed, run.observed) } : run,
    ),
    // The pieces of a variant that passed are not needed any more; the first one is kept for the report.
    filter((run, at) => at === 0 || run.differences.length > 0 || run.observed.hung !== null),
    toArray(),
    take(1),
    map((kept): Outcome => {
      const failed = kept.filter((run) => run.differences.length > 0);
      const shown = failed[0] ?? kept[0];
      return {
        id: one.id,
        wire: one.wire,
        source: one.source,
        passed: failed.length === 0 && shown !== undefined,
        variants,
        failedVariants: failed.length,
        variant: shown?.variant.name ?? null,
        observed: shown?.observed ?? null,
        differences: shown?.differences ?? [],
      };
    }),
  );
}

const sameAlways = ['text', 'thinking', 'finishReason', 'usage', 'files', 'sources', 'metadata'] as const;

/** What the framing must not change, judged or not. */
function unlike(first: Observation, other: Observation): readonly Difference[] {
  const told = (of: Observation) => ({
    ...Object.fromEntries(sameAlways.map((field) => [field, of[field]])),
    toolCalls: of.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    error: of.error?.code ?? null,
  });
  const now: Readonly<Record<string, unknown>> = told(other);
  return Object.entries(told(first)).flatMap(([field, before]) =>
    isDeepStrictEqual(now[field], before)
      ? []
      : [{ field: `${field} (another than in the wire's own framing)`, came: now[field], due: before }],
  );
}

/** What became of something that cannot be run. */
export function notRun(id: string, source: string, wire: string | null, problem: unknown): Outcome {
  const differences = [
    { field: 'case', came: typeof problem === 'string' ? problem : errorText(problem), due: 'a case that can be run' },
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
