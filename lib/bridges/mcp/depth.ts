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
