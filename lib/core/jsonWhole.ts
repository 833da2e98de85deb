import type { JsonValue } from './json.js';
import * as json from './jsonCharacters.js';

const BACKSLASH = 0x5c;

/** Where the array or object that opens at `from` ends: the offset behind its bracket; -1: not in this text. Of text that is not JSON, anywhere. */
export function closingEnd(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === json.QUOTE) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at++;
    } else if (json.opens(code)) depth++;
    else if (json.closes(code) && --depth === 0) return at + 1;
  }
  return -1;
}

/** The value of a whole JSON text; undefined: it is none. */
export function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
