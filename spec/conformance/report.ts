import type { Outcome } from './runCase.js';

/** How much of a value is printed; the JSON report has it whole. */
const longest = 600;

/** A case as lines for people: one where it passed; otherwise what came and what was due, of the first variant that failed. */
export function linesOf(outcome: Outcome): readonly string[] {
  const { id, wire, source, passed, variants, failedVariants, variant, differences } = outcome;
  const name = `${id} (${wire ?? 'no wire'})`;
  if (passed) return [`passed  ${name}, ${variants} variants`];
  const where =
    variant === null ? [] : [`        ${failedVariants} of ${variants} variants failed; the first: ${variant}`];
  const fields = differences.flatMap(({ field, came, due }) => [
    `        ${field}`,
    `          came ${shown(came)}`,
    `          due  ${shown(due)}`,
  ]);
  return [`FAILED  ${name}, ${source}`, ...where, ...fields];
}

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}... (${text.length} characters)`;
}

/** The last line. */
export const summaryOf = (outcomes: readonly Outcome[]): string => {
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  return `${passed} passed, ${outcomes.length - passed} failed`;
};

/** Cases end as they end: the order of the report must not depend on that. */
const inOrder = (outcomes: readonly Outcome[]) =>
  [...outcomes].sort((a, b) => compare(a.source, b.source) || compare(a.id, b.id));

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The report for programs: `{ cases: [{ id, wire, source, text, thinking, toolCalls: [{ id, name, arguments }], files, sources, finishReason, rawFinishReason, usage: { input, output,
 * total, cachedInput, cacheWriteInput, reasoning }, error: { name, code, message, retryable, providerCode }, passed, differences: [{ field, came, due }], variant, variants,
 * failedVariants }], passed, failed }`. What was observed is that of `variant`: the first that failed, or the wire's own framing. It is null in a case that could not be run.
 */
export function documentOf(outcomes: readonly Outcome[]) {
  const cases = inOrder(outcomes).map(
    ({ id, wire, source, observed, passed, differences, variant, variants, failedVariants }) => ({
      id,
      wire,
      source,
      text: observed?.text ?? null,
      thinking: observed?.thinking ?? null,
      toolCalls:
        observed?.toolCalls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })) ?? null,
      files: observed?.files ?? null,
      sources: observed?.sources ?? null,
      finishReason: observed?.finishReason ?? null,
      rawFinishReason: observed?.rawFinishReason ?? null,
      usage: observed?.usage ?? null,
      error: observed?.error ?? null,
      metadata: observed?.metadata ?? null,
      messages: observed?.messages ?? null,
      passed,
      differences,
      variant,
      variants,
      failedVariants,
    }),
  );
  return { cases, passed: cases.filter((one) => one.passed).length, failed: cases.filter((one) => !one.passed).length };
}
