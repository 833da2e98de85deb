import { isRecord } from '../core/json/json.js';
import { findKeyShapes } from '../protocol/redact.js';
import { findSecrets, mergeRanges, replaceRanges, replacement } from '../protocol/secrets.js';
import type { Range } from '../protocol/secrets.js';

/**
 * Where a text contains secrets: the known ones, and what has the shape of a key.
 *
 * @param text The text.
 * @param secrets The `spellings` of the known secrets.
 */
export const secretsIn = (text: string, secrets: readonly string[]): readonly Range[] =>
  mergeRanges([...findSecrets(text, secrets, 'recording'), ...findKeyShapes(text)]);

/** Copies a JSON value, and replaces the secrets in all of its texts and field names. */
export function redactValue(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') {
    const ranges = secretsIn(value, secrets);
    return ranges.length > 0 ? replaceRanges(value, ranges) : value;
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secrets));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [redactValue(field, secrets), redactValue(inner, secrets)]),
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
const MAX_TAIL_LENGTH = 512;

/** A character that can be part of a key. */
const keyCharacter = /[\w.~+/=-]/;

/**
 * Where the end of a text begins that may be the beginning of a secret: its last word, which may be the first part of a
 * key, or the first part of a known secret, which may be longer than a word (a password with blanks).
 */
export function openTail(text: string, secrets: readonly string[]): number {
  const first = Math.max(0, text.length - MAX_TAIL_LENGTH);
  let tail = text.length;
  while (tail > first && keyCharacter.test(text.charAt(tail - 1))) tail--;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length - first); length > 0; length--) {
      if (!text.endsWith(secret.slice(0, length))) continue;
      tail = Math.min(tail, text.length - length);
      break;
    }
  }
  return tail;
}
