/** No wait cures it. Codes have no punctuation and are in lower case. */
interface PermanentError {
  readonly codes?: RegExp;
  readonly message?: RegExp;
  readonly advice: string;
}

/** Error pages; gemini-cli#8437, #10513; continue#12643; llama.cpp 3f545becc. "billing" may be a limit per minute. */
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

/** Anthropic's `details.error_code`, Google's `violations[].quotaId`. */
const innerCodes = /"(?:error_code|quotaId)":"([^"\\]*)"/g;

/** What to do; undefined if a wait may cure the error. `json`, as received, may contain further codes. */
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

/** Servers spell the same code in several ways. */
export const normalizeCode = (code: string): string => code.toLowerCase().replace(/[^a-z0-9]/g, '');
