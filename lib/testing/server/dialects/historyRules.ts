import { nonEmptyString } from '../../../core/json/json.js';
import type { JsonObject } from '../../../core/json/json.js';

export interface HistoryRule {
  /** Where the vendor documents the rule, or a report of a refused request. */
  readonly source: string;
  readonly objection: (messages: readonly JsonObject[], at: number) => string | undefined;
}

export function historyObjection(rules: readonly HistoryRule[], messages: readonly JsonObject[]): string | undefined {
  for (const at of messages.keys())
    for (const { objection } of rules) {
      const found = objection(messages, at);
      if (found !== undefined) return found;
    }
  return undefined;
}

export const textOf = (value: unknown): string => nonEmptyString(value) ?? '';
