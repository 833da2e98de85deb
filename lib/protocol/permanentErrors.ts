import type { ErrorDetails } from './errorDetails.js';

interface PermanentError {
  readonly codes?: RegExp;
  readonly message?: RegExp;
  readonly advice: string;
}

/**
 * OpenAI and Anthropic, "Errors"; Moonshot; google-gemini/gemini-cli#8437, #10513, continuedev/continue#12643 (daily
 * quotas, `limit: 0`); DashScope; llama.cpp 3f545becc (status 500 for images without a projector, arguments that are
 * not JSON). "Billing" says nothing: Groq and Google use it for limits per minute.
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

/** Undefined for an error that a wait may cure. `json` is the error as received, which may have further codes. */
export function permanentAdvice({ message = '', codes }: ErrorDetails, json?: unknown): string | undefined {
  const inner = [...JSON.stringify(json ?? null).matchAll(innerCodes)].map(([, code = '']) => code);
  const all = [...codes, ...inner].map(normalizeCode);
  const isKnown = (error: PermanentError) => [
    error.message?.test(message),
    ...all.map((code) => error.codes?.test(code)),
  ];
  return permanentErrors.find((error) => isKnown(error).includes(true))?.advice;
}

export const normalizeCode = (code: string): string => code.toLowerCase().replace(/[^a-z0-9]/g, '');
