type Pairs = readonly (readonly [object, object])[];

function contentOf(value: object): unknown {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof Error) return [value.name, value.message];
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return isOpaque(value) ? textOf(value) : undefined;
}

/** Whether a value has no fields that can be seen: an instance of a class with private fields, a RegExp, a URL. */
function isOpaque(value: object): boolean {
  if (Object.keys(value).length > 0 || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

function textOf(value: object): string | undefined {
  const toString: unknown = Reflect.get(value, 'toString');
  return toString === Object.prototype.toString || typeof toString !== 'function'
    ? undefined
    : String(Reflect.apply(toString, value, []));
}

/**
 * Whether two values have the same content: JSON, dates, maps, sets, bytes, errors (by name and message) and instances
 * of one class, by their fields. Instances without visible fields are the same if their class has a `toString` of its
 * own (RegExp, URL) and it returns the same; otherwise, as functions and symbols, only if they are identical.
 */
export const sameValue = (a: unknown, b: unknown): boolean => isSame(a, b, []);

function isSame(a: unknown, b: unknown, within: Pairs): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (within.some(([outerA, outerB]) => outerA === a && outerB === b)) return true; // a cycle: no difference so far
  const pairs: Pairs = [...within, [a, b]];
  const [content, other] = [contentOf(a), contentOf(b)];
  if (content !== undefined) return isSame(content, other, pairs);
  if (isOpaque(a) || isOpaque(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(Reflect.get(a, key), Reflect.get(b, key), pairs))
  );
}

export const showValue = (value: unknown): string => JSON.stringify(shown(value, []));

function shown(value: unknown, within: readonly object[]): unknown {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return `<${String(value)}>`;
  if (typeof value === 'bigint') return `<${value}n>`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return `<${String(value)}>`;
  if (within.includes(value)) return '<the object around it>';
  const show = (inner: unknown) => shown(inner, [...within, value]);
  if (Array.isArray(value)) return value.map(show);
  if (value instanceof Map || value instanceof Set) return { [`<${value.constructor.name}>`]: [...value].map(show) };
  if ('toJSON' in value) return value; // by JSON.stringify
  if (isOpaque(value)) return `<${textOf(value) ?? value.constructor.name}>`;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, show(inner)]));
}
