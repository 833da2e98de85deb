/** An error that no wait cures, by its codes (without punctuation, in lower case) or its message. */
interface PermanentError {
  readonly codes?: RegExp;
  readonly message?: RegExp;
  /** What to do instead. */
  readonly advice: string;
}

/**
 * Sources: OpenAI, "Error codes" (`credit_balance_exhausted`, `project_spend_limit_exceeded`: a retry does not help);
 * Anthropic, "Errors" (`enforced_spend_limit_reached`, with the type of a rate limit); Moonshot
 * (`exceeded_current_quota_error`); google-gemini/gemini-cli#8437, #10513 and continuedev/continue#12643 (daily
 * quotas, and `limit: 0` with a delay that does not help); DashScope (`data_inspection_failed`). llama.cpp 3f545becc
 * reports what it never accepts with status 500: images without a projector, arguments that are not JSON.
 *
 * The word billing in a message says nothing: Groq and Google use it for limits per minute, too.
 */
const permanentErrors: readonly PermanentError[] = [
  {
    codes: /insufficient(?:quota|balance|credit)|creditbalance|outofcredit|(?:spend|usage)limit|billing|currentquota/,
    message: /\bno credits\b|extra usage is required|credit balance is too low/i,
    advice: 'Check the credit and the billing of the account: a retry does not help.',
  },
  {
    codes: /perday/,
    message: /\bper day\b/i,
    advice: "The day's quota is used up: try again tomorrow, or ask for a higher limit in the billing of the account.",
  },
  {
    message: /\blimit: 0(?![\d.])/i,
    advice: 'The plan of the account does not include this model: check its billing.',
  },
  {
    codes: /contentfilter|contentpolicy|datainspection/,
    message: /\bmmproj\b|image input is not supported|failed to (?:load|decode|process) image|arguments as JSON:/i,
    advice: 'Change the request: the server does not accept its content.',
  },
];

/** Fields below the error that contain a code: Anthropic's `details.error_code`, Google's `violations[].quotaId`. */
const innerCodes = /"(?:error_code|quotaId)":"([^"\\]*)"/g;

/**
 * What to do about an error that no wait cures; undefined for any other error.
 *
 * @param error The message and the codes.
 * @param json The error as it was received, which may contain further codes. Default: none.
 */
export function permanentAdvice(
  { message = '', codes }: { readonly message: string | undefined; readonly codes: readonly string[] },
  json?: unknown,
): string | undefined {
  const inner = [...JSON.stringify(json ?? null).matchAll(innerCodes)].map(([, code = '']) => code);
  const all = [...codes, ...inner].map(normalizeCode);
  const isKnown = (error: PermanentError) => [
    error.message?.test(message),
    ...all.map((code) => error.codes?.test(code)),
  ];
  return permanentErrors.find((error) => isKnown(error).includes(true))?.advice;
}

/** A code in lower case, without punctuation: servers spell the same code in several ways. */
export const normalizeCode = (code: string): string => code.toLowerCase().replace(/[^a-z0-9]/g, '');
