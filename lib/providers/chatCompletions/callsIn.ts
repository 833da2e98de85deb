import { isJsonObject, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';

/** A call as it was written in a text. */
export interface WrittenCall {
  readonly name: string;
  readonly args: JsonObject | string;
}

/** What may stand between calls and around them: separators, and the control tokens of Llama 3 and 4. */
const between = /(?:\s|[;,]|<\|(?:python_tag|python_start|python_end|eom_id|eot_id|eom|eot)\|>)*/y;

/**
 * The calls of a text that holds calls and nothing else: objects `{ "name", "parameters" | "arguments" }` one after the other, or lists of them,
 * with Llama's control tokens between them. Linear in the text.
 *
 * @param text The text, tags included.
 * @returns The calls, or undefined when anything else is in it.
 */
export function callsIn(text: string): readonly WrittenCall[] | undefined {
  const calls: WrittenCall[] = [];
  let at = 0;
  for (;;) {
    between.lastIndex = at;
    between.test(text);
    at = between.lastIndex;
    if (at >= text.length) return calls.length > 0 ? calls : undefined;
    const end = endOfValue(text, at);
    const found = end === undefined ? undefined : written(text.slice(at, end));
    if (end === undefined || found === undefined) return undefined;
    calls.push(...found);
    at = end;
  }
}

/** Where the JSON object or list that begins at `start` ends, strings told from structure; undefined when it does not. */
function endOfValue(text: string, start: number): number | undefined {
  if (text[start] !== '{' && text[start] !== '[') return undefined;
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (inString && char === '\\') at += 1;
    else if (char === '"') inString = !inString;
    else if (!inString && (char === '{' || char === '[')) depth += 1;
    else if (!inString && (char === '}' || char === ']')) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

function written(json: string): readonly WrittenCall[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined; // a text, then: it is shown as it came
  }
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** Keys that may stand beside a name where a call has no arguments: an object with others is something else. */
const bare: ReadonlySet<string> = new Set(['name', 'type', 'id']);

function callOf(value: unknown): WrittenCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const called = isJsonObject(value['function']) ? value['function'] : value;
  const name = textOf(called['name']);
  const args = called['parameters'] ?? called['arguments'];
  if (name === undefined) return undefined;
  if (isJsonObject(args) || typeof args === 'string') return { name, args };
  return (args === undefined || args === null) && Object.keys(called).every((key) => bare.has(key) || called[key] === null)
    ? { name, args: {} }
    : undefined;
}
