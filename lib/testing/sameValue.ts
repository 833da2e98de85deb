/** What two values are compared by, if not by their fields. */
function contentOf(value: object): unknown {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof Error) return [value.name, value.message];
  return undefined;
}

/**
 * Whether two values have the same content: JSON, dates, maps, sets, errors (by name and message) and instances of one
 * class. Functions and symbols are the same only if they are identical.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const [content, other] = [contentOf(a), contentOf(b)];
  if (content !== undefined) return sameValue(content, other);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameField(a, b, key));
}

const sameField = (a: object, b: object, key: string): boolean => sameValue(Reflect.get(a, key), Reflect.get(b, key));

/** A value as text for people: JSON, and what JSON does not have. */
export function showValue(value: unknown): string {
  const replaced = (_key: string, inner: unknown) => replacementOf(inner);
  return JSON.stringify(value, replaced);
}

function replacementOf(value: unknown): unknown {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return `<${String(value)}>`;
  if (typeof value === 'bigint') return `<${value}n>`;
  if (value instanceof Error) return `<${String(value)}>`;
  if (value instanceof Map || value instanceof Set) return { [`<${value.constructor.name}>`]: [...value] };
  return value;
}
