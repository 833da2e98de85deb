export interface ContextLength {
  readonly limit?: number | undefined;
  readonly tokens?: number | undefined;
}

/** In lower case, without separators. */
const codes: readonly string[] = [
  'contextlengthexceeded', // OpenAI, Azure, Groq, Cerebras: github.com/ChatGPTNextWeb/NextChat/issues/625
  'exceedcontextsizeerror', // llama.cpp: github.com/ggml-org/llama.cpp/pull/15780
];

const messages: readonly RegExp[] = [
  // OpenAI: github.com/webtimemachine/wtm2/issues/579
  /maximum context length is (?<limit>[\d,]+) tokens(?:\. However, your messages resulted in (?<tokens>[\d,]+))?/,
  // OpenAI Responses: github.com/dyad-sh/dyad/issues/1672
  /input exceeds the context window of this model/,
];

/** `patterns` of other servers (`contextLengthPatterns`) are tried first. */
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

export const isContextLengthCode = (code: string): boolean => codes.includes(code.toLowerCase().replace(/[^a-z]/g, ''));

const number = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
