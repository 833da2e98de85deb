/** A value that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** An object that JSON can hold. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A JSON Schema document (draft 2020-12), as plain data. */
export type JsonSchema = JsonObject;

/** Whether a value that came from outside is an object with keys: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same for JSON: what `JSON.parse` made is narrowed without a copy. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** The text of `value` if it is a string that says something, otherwise undefined. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The object, if it is one; otherwise an empty one, of which every field is undefined. */
export function objectOrEmpty(value: unknown): JsonObject {
  return isJsonObject(value) ? value : noFields;
}

const noFields: JsonObject = {};

/** Fields of which some may be undefined, without those. */
export type OmitUndefined<T> = string extends keyof T
  ? Readonly<Record<string, Exclude<T[keyof T], undefined>>>
  : { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
      [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
    };

/** The fields that have a value: what is undefined is left out. */
export function omitUndefined<T extends object>(fields: T): OmitUndefined<T> {
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) kept[field] = value;
  return kept as OmitUndefined<T>;
}

/** An object without some of its fields. */
export function omit(object: JsonObject, ...fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)));
}

/** The number, if it is one. Counts that a server leaves out or sends as null stay unknown. */
export function finiteNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Joins what came later to what is held: maps are merged by key, lists concatenated, anything else gives way to what is newer. */
export function mergeJson(held: JsonValue | undefined, data: JsonValue): JsonValue {
  if (Array.isArray(held) && Array.isArray(data))
    return [...(held as readonly JsonValue[]), ...(data as readonly JsonValue[])];
  if (!isJsonObject(held) || !isJsonObject(data)) return data;
  return {
    ...held,
    ...Object.fromEntries(Object.entries(data).map(([key, value]) => [key, mergeJson(held[key], value)])),
  };
}

/**
 * The value of a JSON text, or undefined if the text is not JSON.
 *
 * @param text The complete text.
 * @param parse The parser. Default: `JSON.parse`.
 */
export function tryParseJson(text: string, parse: (text: string) => unknown = JSON.parse): JsonValue | undefined {
  try {
    return parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The value of a JSON text, or the text itself if it is not JSON. */
export function parseJsonOrText(text: string): JsonValue {
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}

/** A value as a list: an array as it is, nothing as an empty one, anything else alone. Servers send one object where a list is documented. */
export function asArray(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? none : [value];
}

/** The parts of a content, which is a list where it is not plain text; empty for text, without a list made for each delta. */
export const contentParts = (content: unknown): readonly unknown[] =>
  typeof content === 'string' ? none : asArray(content);
const none: readonly never[] = [];

/** A list that holds something; an empty one is none. */
export const nonEmptyArray = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** Fields of a body; those without a value are left out of it. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;
