import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/**
 * The choice at index 0. One choice is requested; `n` or `candidateCount` in the provider's options may ask for more.
 *
 * @param choices The `choices` or `candidates` of a frame.
 */
export function firstChoice(choices: unknown): JsonObject | undefined {
  for (const choice of asArray(choices)) {
    if (isJsonObject(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0)) return choice;
  }
  return undefined;
}
