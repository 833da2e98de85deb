import type { JsonObject } from './json/json.js';

export const invalidArgumentsTexts = {
  invalid_json: 'The arguments are not valid JSON. Send them again as one JSON object.',
  too_deep: 'The arguments have more than 500 levels of objects and arrays. Send fewer levels.',
  inexact_integer:
    'The arguments contain an integer beyond 2^53, whose last digits would be lost. Send it as a string.',
} as const;

export interface InvalidArguments extends JsonObject {
  readonly _raw: string;
  readonly _error: keyof typeof invalidArgumentsTexts;
}

/** Whether a call's arguments could not be read. Such a call is not executed: an error is reported to the model. */
export function isInvalidArguments(args: JsonObject): args is InvalidArguments {
  const { _raw: text, _error: error } = args;
  return typeof text === 'string' && typeof error === 'string' && Object.hasOwn(invalidArgumentsTexts, error);
}
