import type { Outcome } from './runCase.js';

/** The most characters of a value that are printed. The JSON report contains complete values. */
const printedLength = 600;

/** Formats a case for people: one line if it passed, otherwise the differences of the first variant that failed. */
export function linesOf(outcome: Outcome): readonly string[] {
  const { id, wire, source, passed, variants, failedVariants, variant, differences } = outcome;
  const name = `${id} (${wire ?? 'no wire'})`;
  if (passed) return [`passed  ${name}, ${variants} variants`];
  const where =
    variant === null ? [] : [`        ${failedVariants} of ${variants} variants failed; the first: ${variant}`];
  const fields = differences.flatMap(({ field, actual, expected }) => [
    `        ${field}`,
    `          actual   ${printed(actual)}`,
    `          expected ${printed(expected)}`,
  ]);
  return [`FAILED  ${name}, ${source}`, ...where, ...fields];
}

function printed(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= printedLength ? text : `${text.slice(0, printedLength)}... (${text.length} characters)`;
}

/** The last line of the output. */
export const summaryOf = (outcomes: readonly Outcome[]): string => {
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  return `${passed} passed, ${outcomes.length - passed} failed`;
};

/** Sorts the cases: the order in which they end varies. */
const inOrder = (outcomes: readonly Outcome[]) =>
  [...outcomes].sort((a, b) => compare(a.source, b.source) || compare(a.id, b.id));

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The report for programs: `{ cases: [{ id, wire, source, text, thinking, toolCalls: [{ id, name, arguments }], files,
 * sources, finishReason, rawFinishReason, usage: { input, output, total, cachedInput, cacheWriteInput, reasoning },
 * error: { name, code, message, retryable, providerCode }, passed, differences: [{ field, actual, expected }], variant,
 * variants, failedVariants }], passed, failed }`. The output is that of `variant`: the first that failed, or the
 * original framing. It is null for a case that could not be run.
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
