import { BACKSLASH, isClosing, isOpening, QUOTE } from './scan.js';

/** Models send about ten levels. Readers are recursive in places: some 5,000 levels are a RangeError. */
export const MAX_JSON_DEPTH = 500;

export function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value].filter(isObject);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    level = level.flatMap((object) => Object.values(object).filter(isObject));
  }
  return false;
}

/** Also for an incomplete text. `JSON.parse` takes a hundred times as long for a megabyte of brackets. */
export function isTextDeeperThan(text: string, limit: number): boolean {
  if (!hasMoreOpenings(text, limit)) return false; // takes a twentieth of the time, and decides about most texts
  let depth = 0;
  let isInString = false;
  for (let offset = 0; offset < text.length; offset++) {
    const code = text.charCodeAt(offset);
    if (isInString) {
      if (code === BACKSLASH) offset++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (isClosing(code)) depth--;
    else if (isOpening(code) && ++depth > limit) return true;
  }
  return false;
}

function hasMoreOpenings(text: string, limit: number): boolean {
  let count = 0;
  for (const opening of ['{', '['])
    for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1)) if (++count > limit) return true;
  return false;
}

/** A copy in which deeper values are null. Without recursion. */
export function limitDepth<T>(value: T, limit: number): T {
  if (!isObject(value)) return value;
  const limited = copy(value);
  let level = [limited];
  for (let depth = 1; level.length > 0; depth++) {
    const next: (typeof level)[number][] = [];
    for (const parent of level) {
      for (const [key, inner] of Object.entries(parent)) {
        if (!isObject(inner)) continue;
        const kept = depth < limit ? copy(inner) : null;
        parent[key] = kept;
        if (kept) next.push(kept);
      }
    }
    level = next;
  }
  return limited as T;
}

const copy = (value: object) =>
  (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;

export const isObject = (it: unknown): it is Record<string, unknown> => typeof it === 'object' && it !== null;
