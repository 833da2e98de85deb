import type { JsonValue } from './json.js';

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const BACKTICK = 0x60;

export const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
export const opens = (code: number): boolean => code === OPEN_OBJECT || code === OPEN_LIST;
export const closes = (code: number): boolean => code === CLOSE_OBJECT || code === CLOSE_LIST;
const isLetter = (code: number): boolean => (code | 0x20) > 0x60 && (code | 0x20) < 0x7b;
const isDigit = (code: number): boolean => code > 0x2f && code < 0x3a;

/** Whether a number or a literal may begin with it. */
export const beginsScalar = (code: number): boolean =>
  isDigit(code) || code === 0x2d || code === 0x74 || code === 0x66 || code === 0x6e;

/** Where the characters of a number or a literal end. */
export function scalarEnd(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (!isDigit(code) && !isLetter(code) && code !== 0x2b && code !== 0x2d && code !== 0x2e) break;
  }
  return at;
}

const numeral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The value of a number or a literal; undefined: it is none. */
export function scalarOf(text: string): JsonValue | undefined {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text === 'null') return null;
  return numeral.test(text) ? Number(text) : undefined;
}

/** Tells of each character in turn whether it is still before the value: white space, a byte order mark, the opening of a fence with its language. */
export function createLead(): (code: number) => boolean {
  let ticks = 0;
  let inInfo = false;
  return (code) => {
    if (code === BACKTICK && ticks < 3) {
      inInfo = ++ticks === 3;
      return true;
    }
    if (ticks === 1 || ticks === 2) return false; // between single backticks, without a language
    if (code === 0x0a) inInfo = false;
    return isSpace(code) || code === 0xfeff || (inInfo && isLetter(code));
  };
}

const BACKSLASH = 0x5c;

/** Where the array or object that opens at `from` ends: the offset behind its bracket; -1: not in this text. Of text that is not JSON, anywhere. */
export function closingEnd(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at++;
    } else if (opens(code)) depth++;
    else if (closes(code) && --depth === 0) return at + 1;
  }
  return -1;
}
