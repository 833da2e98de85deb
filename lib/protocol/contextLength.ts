/** The numbers in the report of a context that is too long, as far as it names them. */
export interface ContextLength {
  readonly limit?: number | undefined;
  readonly tokens?: number | undefined;
}

/** The codes of a context that is too long, in lower case, without separators. */
const codes: readonly string[] = [
  'contextlengthexceeded', // OpenAI, Azure, Groq, Cerebras: github.com/ChatGPTNextWeb/NextChat/issues/625
  'exceedcontextsizeerror', // llama.cpp: github.com/ggml-org/llama.cpp/pull/15780
];

/** The messages with which OpenAI reports a context that is too long. */
const messages: readonly RegExp[] = [
  // OpenAI: github.com/webtimemachine/wtm2/issues/579
  /maximum context length is (?<limit>[\d,]+) tokens(?:\. However, your messages resulted in (?<tokens>[\d,]+))?/,
  // OpenAI Responses: github.com/dyad-sh/dyad/issues/1672
  /input exceeds the context window of this model/,
];

/**
 * Reads the report of a context that is too long.
 *
 * @param message The provider's message.
 * @param providerCodes The codes of the error.
 * @param patterns The messages of other servers than OpenAI's, which are tried first (`contextLengthPatterns`).
 * @returns The numbers that the message names; undefined if this is another error.
 */
export function readContextLength(
  message: string,
  providerCodes: readonly string[],
  patterns: readonly RegExp[] = [],
): ContextLength | undefined {
  for (const pattern of [...patterns, ...messages]) {
    const match = pattern.exec(message);
    if (match) return { limit: number(match.groups?.['limit']), tokens: number(match.groups?.['tokens']) };
  }
  return providerCodes.some(isContextLengthCode) ? {} : undefined;
}

/** Whether a provider's code means that a context is too long. */
export const isContextLengthCode = (code: string): boolean => codes.includes(code.toLowerCase().replace(/[^a-z]/g, ''));

const number = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
