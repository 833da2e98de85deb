import { isDeeperThan, limitDepth, MAX_JSON_DEPTH } from '../../core/json/depth.js';
import { isSameJson } from '../../core/json/equal.js';
import { hasInfinity, hasNumber, isJsonObject, isTooDeepJson, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { InvalidArguments } from '../../core/invalidArguments.js';
import { BracketScanner } from '../../core/json/scan.js';

export const isBlank = (text: string): boolean => {
  const trimmed = text.trim();
  return trimmed === '' || trimmed === 'null' || /^\{\s*\}$/.test(trimmed);
};

/** Equal repeats count once. Other text is not repaired, but marked with an `_error`. */
export function parseToolCallArguments(text: string): JsonObject {
  let single = text;
  let value = parseObject(text);
  if (!value) {
    single = withoutRepeats(text.replace(/^\s*null\s*(?=\{)/, ''));
    value = parseObject(single);
  }
  if (!value) return { _raw: text, _error: isTooDeepJson(text) ? 'too_deep' : 'invalid_json' };
  if (hasInfinity(value)) return { _raw: text, _error: 'infinite_number' };
  return hasInexactInteger(single) ? { _raw: text, _error: 'inexact_integer' } : value;
}

/** Strings, which may contain any digits, and numbers. */
const scalars = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** An integer that would be written with other digits after it was parsed. */
function hasInexactInteger(text: string): boolean {
  if (!/\d{16}/.test(text)) return false; // nearly every text
  const inner = text.trimStart().startsWith('"') ? tryParseJson(text) : text;
  const unwrapped = typeof inner === 'string' ? inner : text;
  const integers = unwrapped.match(scalars)?.filter((scalar) => /^-?\d{16,}$/.test(scalar)) ?? [];
  return integers.some((digits) => String(Number(digits)) !== digits);
}

/** The digits of an integer beyond 2^53 may have changed when the event was parsed. */
export function checkObject(args: JsonObject): JsonObject {
  if (isDeeperThan(args, MAX_JSON_DEPTH))
    return { _raw: JSON.stringify(limitDepth(args, MAX_JSON_DEPTH)), _error: 'too_deep' };
  const marked = (error: InvalidArguments['_error']) => ({ _raw: JSON.stringify(args), _error: error });
  if (hasInfinity(args)) return marked('infinite_number');
  return hasNumber(args, isInexact) ? marked('inexact_integer') : args;
}

/** From 1e21 on, a number is written with an exponent: it was a float. */
const isInexact = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;

function parseObject(text: string, unwrap = true): JsonObject | undefined {
  if (isBlank(text)) return {};
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  return unwrap && typeof value === 'string' ? parseObject(value, false) : undefined;
}

/** Placeholders do not count. If the values differ, the text stays unchanged. */
function withoutRepeats(text: string): string {
  const [first, ...others] = topLevelValues(text).filter((value) => !isBlank(value));
  if (first === undefined) return '';
  const value = parseObject(first);
  // Values are compared, not texts: some servers repeat an object with its keys in another order.
  const isRepeat = (other: string) => other === first || isSameJson(value, parseObject(other));
  return others.every(isRepeat) ? first : text;
}

function topLevelValues(text: string): string[] {
  const scanner = new BracketScanner();
  const values: string[] = [];
  let from = 0;
  for (let end = scanner.scan(text, 0); end > 0; end = scanner.scan(text, end)) {
    values.push(text.slice(from, end).trim());
    from = end;
  }
  return [...values, text.slice(from).trim()];
}
