import type { FinishReason } from '../../core/chunk.js';
import { finiteNumber } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { commonFinishReason } from '../shared/finishReasons.js';

/** `load` and `unload` end a request without messages. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['load', 'other'],
  ['unload', 'other'],
] as const);

/** Servers that forward requests send the raw finish reasons of other APIs. */
export const toFinishReason = (rawReason: string): FinishReason =>
  finishReasons.get(rawReason) ?? commonFinishReason(rawReason);

export function readUsage(line: JsonObject): Usage {
  return usageOf({ input: finiteNumber(line['prompt_eval_count']), output: finiteNumber(line['eval_count']) });
}
