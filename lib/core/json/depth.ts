/**
 * How many levels of objects and arrays JSON from outside may have. Models and servers send about ten. What reads the
 * values is recursive in places (validation, redaction, `JSON.stringify`), and fails at some 5,000 levels with a
 * RangeError that names no cause.
 */
export const MAX_JSON_DEPTH = 500;

/** Whether a JSON value has more levels of objects and arrays than a limit. It uses no recursion. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value].filter(isObject);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    level = level.flatMap((object) => Object.values(object).filter(isObject));
  }
  return false;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
