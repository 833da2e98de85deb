import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/**
 * Finds the choice at index 0, or without an index. The library requests one choice, but `providerOptions` may request
 * more, with `n` or `candidateCount`.
 */
export function firstChoice(choices: unknown): JsonObject | undefined {
  for (const choice of asArray(choices)) {
    if (isJsonObject(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0)) return choice;
  }
  return undefined;
}
