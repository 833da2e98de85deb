import { isJsonObject } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';

/** A value as a list: an array as it is, nothing as an empty one, anything else alone. Servers send one object where a list is documented. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? none : [value];
}

/** The parts of a content, which is a list where it is not plain text; empty for text, without a list made for each delta. */
export const partsOf = (content: unknown): readonly unknown[] => (typeof content === 'string' ? none : listOf(content));

const none: readonly never[] = [];

/** A list that holds something; an empty one is none. */
export const filled = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** A data URL taken apart, or undefined when it is none in base64. */
export function parseDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType, ...attributes] = url.slice('data:'.length, Math.max(comma, 0)).split(';');
  if (comma < 0 || !attributes.some((attribute) => attribute.trim().toLowerCase() === 'base64')) return undefined;
  return { mediaType: mediaType === undefined || mediaType === '' ? 'text/plain' : mediaType, data: url.slice(comma + 1) };
}

/** Fields of a body; those without a value are left out of it. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** One answer is asked for; of several (`n` or `candidateCount` in the provider's options) the one at index 0 counts. */
export function firstAnswer(answers: unknown): JsonObject | undefined {
  for (const answer of listOf(answers)) {
    if (isJsonObject(answer) && (typeof answer['index'] !== 'number' || answer['index'] === 0)) return answer;
  }
  return undefined;
}
