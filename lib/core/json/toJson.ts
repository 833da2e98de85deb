import { errorText } from '../errors.js';
import { base64 } from '../message.js';
import type { JsonValue } from './json.js';

/**
 * Copies a value as plain JSON; later changes to the value do not affect the copy.
 *
 * `undefined` becomes null, bytes become base64, dates become ISO strings, and an Error becomes its message. As in
 * `JSON.stringify`, `toJSON` is called, and fields whose value is undefined are omitted. Everything else that
 * `JSON.stringify` would silently turn into null or `{}` is an error.
 *
 * @throws TypeError when JSON cannot represent the value, or anything in it: functions, symbols, bigints, `NaN` and
 * `Infinity`, invalid dates, circular structures, and objects that hold their data elsewhere than in fields (`Map`,
 * `Set`, `Response`, `Headers`, Promises).
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  const text = JSON.stringify(value, replacer) as string | undefined; // undefined for undefined
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

/**
 * The type of the copy that `toJson` makes: a Date becomes a string, `void` becomes null. What JSON cannot represent is
 * `never`, since it is an error.
 */
export type JsonOf<T> = unknown extends T
  ? JsonValue
  : T extends JsonValue
    ? T
    : T extends Nothing
      ? null
      : T extends { toJSON(): infer J }
        ? JsonOf<J>
        : T extends ArrayBuffer | ArrayBufferView | Error
          ? string
          : T extends NotJson
            ? never
            : T extends readonly unknown[]
              ? { [K in keyof T]: JsonOf<T[K]> }
              : JsonFields<T>;

// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- what a function without a result returns
type Nothing = undefined | void;

type NotJson =
  | ((...args: never) => unknown)
  | symbol
  | bigint
  | PromiseLike<unknown>
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>;

/** Fields whose value is undefined are omitted. */
type JsonFields<T> = {
  [K in keyof T as K extends string | number ? (undefined extends T[K] ? never : K) : never]: JsonOf<T[K]>;
} & {
  [K in keyof T as K extends string | number ? (undefined extends T[K] ? K : never) : never]?: JsonOf<
    Exclude<T[K], undefined>
  >;
};

/**
 * Converts one field. `value` is what `toJSON` returned; `original` is needed because a Buffer's `toJSON` returns a
 * list of numbers, and that of an invalid date null.
 */
function replacer(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Error) return errorText(original);
  if (original instanceof ArrayBuffer) return base64(new Uint8Array(original));
  if (ArrayBuffer.isView(original)) {
    return base64(new Uint8Array(original.buffer, original.byteOffset, original.byteLength));
  }
  if (original instanceof Date && value === null) throw notJson('an invalid Date');
  switch (typeof value) {
    case 'function':
    case 'symbol':
      throw notJson(`a ${typeof value}`);
    case 'number':
      if (!Number.isFinite(value)) throw notJson(String(value));
      return value;
    case 'object':
      if (value !== null && hidesItsData(value)) throw hiddenData(className(value));
      return value;
    default:
      return value; // a bigint is an error of JSON.stringify
  }
}

/**
 * Whether an object that is neither an array nor a plain object has no fields: its data is elsewhere. In every realm,
 * the prototype of a plain object has no prototype itself.
 */
function hidesItsData(value: object): boolean {
  if (Array.isArray(value) || Object.keys(value).length > 0) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** The name in `Object.prototype.toString` is that of a built-in class; a user's class has its constructor's. */
function className(value: object): string {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? value.constructor.name || 'class instance' : tag;
}

const remedies: Readonly<Record<string, string>> = {
  Map: 'Return Object.fromEntries(map).',
  Set: 'Return [...set].',
  Headers: 'Return Object.fromEntries(headers).',
  URLSearchParams: 'Return Object.fromEntries(searchParams), or its text.',
  Response: 'Return await response.json() or await response.text().',
  Promise: 'Await it first.',
};

const notJson = (what: string) => new TypeError(`JSON cannot represent ${what}. Return plain data.`);

const hiddenData = (name: string) =>
  new TypeError(`JSON cannot represent an object of class ${name}. ${remedies[name] ?? 'Return plain data.'}`);
