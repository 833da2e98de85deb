import { textOf } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import { textIn } from './pieces.js';

/** The fields of a detail that stream in pieces. */
const streamed = ['text', 'summary', 'data'] as const;

/**
 * Adds a chunk of OpenRouter's `reasoning_details` to the detail it belongs to (its guide "Reasoning tokens": `reasoning.text`,
 * `reasoning.summary`, `reasoning.encrypted`, each with an `index`). Chunks of one type and index are one detail, in the place of the first; its
 * signature comes with the last. Two ids are two details, and so is what follows a signature. Without an index, a chunk continues the detail right
 * before it. Encrypted data comes whole, unless an id says that it goes on.
 */
export function joinDetail(details: JsonObject[], next: JsonObject): void {
  const indexed = typeof next['index'] === 'number';
  for (let at = details.length - 1; at >= (indexed ? 0 : details.length - 1); at -= 1) {
    const held = details[at];
    if (held === undefined || !continues(held, next)) continue;
    details[at] = joined(held, next);
    return;
  }
  details.push(next);
}

function continues(held: JsonObject, next: JsonObject): boolean {
  if (held['type'] !== next['type'] || held['index'] !== next['index']) return false;
  const [id, nextId] = [textOf(held['id']), textOf(next['id'])];
  if (next['data'] !== undefined) return id !== undefined && id === nextId;
  if (id !== undefined && nextId !== undefined && id !== nextId) return false;
  const signature = textOf(held['signature']);
  return signature === undefined || signature === next['signature'] || streamed.every((field) => textIn(next[field]) === '');
}

function joined(held: JsonObject, next: JsonObject): JsonObject {
  const whole: Record<string, JsonValue> = { ...held };
  for (const [field, value] of Object.entries(next)) if (value !== null && value !== '') whole[field] = value;
  for (const field of streamed) {
    const text = textIn(held[field]) + textIn(next[field]);
    if (text !== '') whole[field] = text;
  }
  return whole;
}
