import { isObject } from './depth.js';

/** The order of keys does not matter. Not recursive: the values may be nested deeper than the call stack. */
export function isSameJson(left: unknown, right: unknown): boolean {
  const pairs: [unknown, unknown][] = [[left, right]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b || Object.is(a, b)) continue; // -0 equals 0, and NaN equals NaN
    if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) || keys.length !== Object.keys(b).length) return false;
    if (keys.length === 0 && JSON.stringify(a) !== JSON.stringify(b)) return false; // two dates
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      pairs.push([a[key], b[key]]);
    }
  }
  return true;
}
