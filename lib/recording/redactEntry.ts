import { isRecord } from '../core/json/json.js';
import { findKeyShapes } from '../protocol/redact.js';
import { findSecrets, mergeRanges, replaceRanges, replacement } from '../protocol/secrets.js';
import type { Range } from '../protocol/secrets.js';

/**
 * Where a text contains secrets: the known ones, and what has the shape of a key.
 *
 * @param text The text.
 * @param spelled The `spellings` of the known secrets.
 */
export const secretsIn = (text: string, spelled: readonly string[]): readonly Range[] =>
  mergeRanges([...findSecrets(text, spelled, 'recording'), ...findKeyShapes(text)]);

/** Replaces the secrets in all texts of a value. A value without secrets is returned unchanged. */
export function redactValue(value: unknown, spelled: readonly string[]): unknown {
  if (typeof value === 'string') {
    const ranges = secretsIn(value, spelled);
    return ranges.length > 0 ? replaceRanges(value, ranges) : value;
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, spelled));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [redactValue(field, spelled), redactValue(inner, spelled)]),
  );
}

/**
 * Replaces the secrets in consecutive texts, also those that span several of them: the replacement is where the secret
 * begins.
 *
 * @param texts The texts.
 * @param ranges Where the secrets are in the joined text.
 */
export function redactTexts(texts: readonly string[], ranges: readonly Range[]): readonly string[] {
  if (ranges.length === 0) return texts;
  let offset = 0;
  return texts.map((text) => {
    const [start, end] = [offset, offset + text.length];
    offset = end;
    let clean = '';
    let at = start;
    for (const [from, to] of ranges) {
      if (to <= start || from >= end) continue;
      clean += text.slice(at - start, Math.max(from, start) - start) + (from >= start ? replacement : '');
      at = Math.min(to, end);
    }
    return clean + text.slice(at - start);
  });
}

/** The longest end of a text that is kept back because a secret may begin there, in characters. */
const longestTail = 512;

/**
 * Where the last word of a text begins: a key that is not complete yet may begin there. With known secrets that contain
 * blanks, it is where the end of the text is the beginning of a secret.
 */
export function openTail(text: string, spelled: readonly string[]): number {
  const first = Math.max(0, text.length - longestTail);
  let tail = text.length;
  while (tail > first && /[\w.~+/=-]/.test(text.charAt(tail - 1))) tail--;
  for (const secret of spelled) {
    for (let length = Math.min(secret.length - 1, text.length - first); length > 0; length--) {
      if (!text.endsWith(secret.slice(0, length))) continue;
      tail = Math.min(tail, text.length - length);
      break;
    }
  }
  return tail;
}
