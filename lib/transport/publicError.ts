import { RivuletError } from '../core/errors.js';
import type { JsonObject } from '../core/json/json.js';
import { toolErrorTexts, type ToolErrorCode } from '../core/message.js';

/** Sentences by code: the error's own message may repeat an internal address, an organisation, a stack. */
const sentences: Readonly<Record<string, string>> = {
  http: 'The model did not accept the request.',
  provider: 'The model has reported an error.',
  connection: 'The model cannot be reached.',
  stream_interrupted: 'The response of the model broke off.',
  timeout: 'The answer took too long.',
  rate_limit: 'There are too many requests at the moment.',
  context_length: 'The conversation is too long for the model. Start another one.',
};

const hasSentence = (code: string): boolean => Object.hasOwn(sentences, code);

/** Nothing is copied from a provider or another server. Messages of classes with `isPublic` are sent. */
export function describeError(thrown: unknown): JsonObject {
  if (!(thrown instanceof RivuletError)) return internal;
  const { code, message, retryable, isPublic } = thrown;
  if (hasSentence(code)) return { code, message: sentences[code] ?? '', retryable };
  return isPublic ? { code, message, retryable } : internal;
}

const internal = { code: 'internal', message: 'The run failed.', retryable: false } as const;

export function describeErrorJson({ code, retryable }: JsonObject): JsonObject {
  if (typeof code !== 'string' || !hasSentence(code)) return internal;
  return { code, message: sentences[code] ?? '', retryable: retryable === true };
}

/** The model reads the complete text. */
export function publicToolError(code: ToolErrorCode = 'failed'): string {
  const texts = { ...toolErrorTexts, ...toolErrors };
  return Object.hasOwn(texts, code) ? texts[code] : texts.failed; // another server may send any code
}

const toolErrors: Readonly<Record<Exclude<ToolErrorCode, keyof typeof toolErrorTexts>, string>> = {
  incomplete: 'The tool ended without an answer.',
  unknown_tool: 'There is no such tool.',
  invalid_arguments: 'The arguments of the call are not valid.',
  timeout: 'The tool did not finish in time.',
  failed: 'The tool failed.',
  outcome_unknown: 'It is not known whether the call was executed: its process ended. It is not executed again.',
};
