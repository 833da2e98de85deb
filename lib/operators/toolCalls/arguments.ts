import { isSameJson } from '../../core/json/equal.js';
import { isJsonObject, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** Whether the text says nothing: no arguments, which a tool receives as `{}`. */
export const isBlank = (text: string): boolean => {
  const trimmed = text.trim();
  return trimmed === '' || trimmed === 'null' || trimmed === '{}';
};

/**
 * Reads the whole text of a call's arguments.
 *
 * Nothing (`""`, `null`) is `{}`. A JSON string that holds an object is unwrapped once. The same object twice over is one (some servers repeat the
 * arguments as a snapshot after their deltas), and a placeholder `{}` gives way to what follows. Anything else that is not a JSON object becomes
 * `{ _raw, _error: 'invalid_json' }`: never guessed at, never repaired.
 */
export function parseToolCallArguments(text: string): JsonObject {
  const value = parsed(text) ?? parsed(withoutRepeats(text.replace(/^\s*null\s*(?=\{)/, '')));
  return value ?? { _raw: text, _error: 'invalid_json' };
}

/** The object that a text holds, or undefined. */
function parsed(text: string, unwrap = true): JsonObject | undefined {
  if (isBlank(text)) return {};
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  return unwrap && typeof value === 'string' ? parsed(value, false) : undefined;
}

/** Of several JSON values in a row: the one they all are, placeholders aside. Otherwise the text as it is. */
function withoutRepeats(text: string): string {
  const values = topLevelValues(text).filter((value) => !isBlank(value));
  const [first, ...others] = values;
  if (first === undefined) return text;
  return others.every((other) => other === first || isSameObject(other, first)) ? first : text;
}

/** Compares values, not texts: some servers repeat an object with its keys in another order. */
const isSameObject = (one: string, other: string): boolean => {
  const value = parsed(one);
  return value !== undefined && isSameJson(value, parsed(other));
};

/** Cuts a text at the ends of its top-level objects; what stands between them is a piece of its own. */
function topLevelValues(text: string): string[] {
  const scanner = jsonScanner();
  const values: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (!scanner.scan(text, at, at + 1)) continue;
    values.push(text.slice(from, at + 1).trim());
    from = at + 1;
  }
  return [...values, text.slice(from).trim()];
}

/** Reads JSON text as it grows, each character once. */
export interface JsonScanner {
  /** Reads `text` from `from` to `to`; true when all read so far ends with a closed top-level value. */
  scan(text: string, from: number, to: number): boolean;
}

/**
 * Tells whether a text that grows has closed its top-level object, array or string. Asked for at every fragment, a `JSON.parse` of all that came so
 * far would be quadratic (64 KB in 4-character pieces: seconds).
 */
export function jsonScanner(): JsonScanner {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let closed = false;
  const read = (code: number) => {
    if (inString) {
      if (escaped) escaped = false;
      else if (code === BACKSLASH) escaped = true;
      else if (code === QUOTE) {
        inString = false;
        closed = depth === 0;
      }
      return;
    }
    if (code <= SPACE) return; // white space changes nothing
    closed = false;
    if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) closed = --depth === 0;
  };
  return {
    scan(text, from, to) {
      for (let at = from; at < to; at++) read(text.charCodeAt(at));
      return closed;
    },
  };
}

const [SPACE, QUOTE, OPEN_BRACKET, BACKSLASH, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [32, 34, 91, 92, 93, 123, 125];
