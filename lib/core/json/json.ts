import { isTextDeeperThan, MAX_JSON_DEPTH } from './depth.js';

/** A value that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** An object that JSON can hold. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A JSON Schema document (draft 2020-12), as plain data. */
export type JsonSchema = JsonObject;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const isWeakKey = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** Whether a value from `JSON.parse` is an object, but not null and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** The value if it is a string that is not empty, otherwise undefined. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value if it is an object, otherwise an empty object, so that its fields can be read. */
export function objectOrEmpty(value: unknown): JsonObject {
  return isJsonObject(value) ? value : EMPTY_OBJECT;
}

const EMPTY_OBJECT: JsonObject = {};

export type OmitUndefined<T> = string extends keyof T
  ? Readonly<Record<string, Exclude<T[keyof T], undefined>>>
  : { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
      [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
    };

/** A copy of an object without its undefined fields. */
export function omitUndefined<T extends object>(fields: T): OmitUndefined<T> {
  const defined: Record<string, unknown> = {};
  for (const field of Object.keys(fields)) {
    const value = fields[field as keyof T];
    if (value !== undefined) defined[field] = value;
  }
  return defined as OmitUndefined<T>;
}

/** A copy of an object without its null fields: some clients send null for an absent one. */
export const omitNull = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as T;

/** The same list if no item has changed. */
export function mapChanged<T>(list: readonly T[], map: (item: T) => T): readonly T[] {
  const mapped = list.map(map);
  return mapped.every((item, index) => item === list[index]) ? list : mapped;
}

export function omit(object: JsonObject, ...fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)));
}

/** A count that a server omits or sends as null stays unknown. */
export function finiteNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Undefined if it is not JSON, or has more than `MAX_JSON_DEPTH` levels. */
export function tryParseJson(text: string, parse: (text: string) => unknown = JSON.parse): JsonValue | undefined {
  try {
    return isTooDeepJson(text) ? undefined : (parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}

/** For a text from outside. Undefined also for a number beyond 1.8e308: JSON would write it as null for others. */
export function tryParseFinite(text: string): JsonValue | undefined {
  const value = tryParseJson(text);
  return hasInfinity(value) ? undefined : value;
}

/** Whether a number was too large for its parser. */
export const hasInfinity = (json: unknown): boolean => hasNumber(json, (value) => Math.abs(value) === Infinity);

/** Without recursion; the value of a program may have a cycle. */
export function hasNumber(json: unknown, test: (value: number) => boolean): boolean {
  const values = new Set([json]); // it also iterates over what is added
  for (const value of values) {
    if (typeof value === 'number' && test(value)) return true;
    if (!isWeakKey(value)) continue;
    for (const inner of Object.values(value)) if (typeof inner !== 'string') values.add(inner);
  }
  return false;
}

export const isTooDeepJson = (text: string): boolean =>
  text.length > MAX_JSON_DEPTH && isTextDeeperThan(text, MAX_JSON_DEPTH); // nearly every text is shorter

export function parseJsonOrText(text: string): JsonValue {
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}

/** Some servers send one object where an array is documented. Nothing (null, undefined) is an empty array. */
export function asArray(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? EMPTY_ARRAY : [value];
}

/** The objects. For a text, always the same empty array, since this runs for each delta. */
export const contentParts = (content: unknown): readonly Readonly<Record<string, unknown>>[] =>
  typeof content === 'string' ? EMPTY_ARRAY : asArray(content).filter(isRecord);

const EMPTY_ARRAY: readonly never[] = [];

export const nonEmptyArray = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

export type Fields = Readonly<Record<string, JsonValue | undefined>>;
