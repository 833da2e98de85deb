import { isJsonObject, asArray, type JsonObject } from '../../core/json/json.js';

/** `providerOptions` may request more than one, with `n` or `candidateCount`. */
export function firstChoice(choices: unknown): JsonObject | undefined {
  return asArray(choices).find(isFirst);
}

/** GitHub Copilot sends the text and the calls of one frame as two of them. */
export function firstChoices(choices: unknown): readonly JsonObject[] {
  return asArray(choices).filter(isFirst);
}

const isFirst = (choice: unknown): choice is JsonObject =>
  isJsonObject(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0);
