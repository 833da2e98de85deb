import { nonEmptyString, type JsonObject } from '../../../core/json/json.js';

/** The objections by their sources: where the vendor documents the rule, or a report of a refused request. */
export type HistoryRules = Readonly<
  Record<string, (messages: readonly JsonObject[], at: number) => string | undefined>
>;

export function historyObjection(rules: HistoryRules, messages: readonly JsonObject[]): string | undefined {
  for (const at of messages.keys())
    for (const objection of Object.values(rules)) {
      const found = objection(messages, at);
      if (found !== undefined) return found;
    }
  return undefined;
}

export const textOf = (value: unknown): string => nonEmptyString(value) ?? '';
