import type { JsonObject } from './json/json.js';

export const invalidArgumentsTexts = {
  invalid_json: 'The arguments are not valid JSON. Send them again as one JSON object.',
  too_deep: 'The arguments have more than 500 levels of objects and arrays. Send fewer levels.',
  inexact_integer:
    'The arguments contain an integer beyond 2^53, whose last digits would be lost. Send it as a string.',
  infinite_number: 'The arguments contain a number beyond 1.8e308. Send a smaller one, or a string.',
} as const;

export interface InvalidArguments extends JsonObject {
  readonly _raw: string;
  readonly _error: keyof typeof invalidArgumentsTexts;
}

/** Arguments that could not be read: the call is not executed, and the model gets an error. */
export function isInvalidArguments(args: JsonObject): args is InvalidArguments {
  const { _raw: text, _error: error } = args;
  return typeof text === 'string' && typeof error === 'string' && Object.hasOwn(invalidArgumentsTexts, error);
}
