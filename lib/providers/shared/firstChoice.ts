import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/**
 * Finds the choice at index 0, or without an index. The library requests one choice, but `providerOptions` may request
 * more, with `n` or `candidateCount`.
 */
export function firstChoice(choices: unknown): JsonObject | undefined {
  return asArray(choices).find(isFirst);
}

/** Finds all such choices: GitHub Copilot sends the text and the calls of one frame as two of them. */
export function firstChoices(choices: unknown): readonly JsonObject[] {
  return asArray(choices).filter(isFirst);
}

const isFirst = (choice: unknown): choice is JsonObject =>
  isJsonObject(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0);
