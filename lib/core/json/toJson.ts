import { errorText } from '../errors.js';
import { base64 } from '../message.js';
import type { JsonValue } from './json.js';

/**
 * @throws TypeError for what `JSON.stringify` would silently turn into null or `{}`: functions, `NaN`, circular
 * structures, objects whose data is not in properties (`Map`, `Response`, Promises).
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  const text = JSON.stringify(value, replacer) as string | undefined; // undefined for undefined
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

/** The type of `toJson`'s copy; `never` for what it throws for. */
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

// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- the return type of a function without a result
type Nothing = undefined | void;

type NotJson =
  | ((...args: never) => unknown)
  | symbol
  | bigint
  | PromiseLike<unknown>
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>;

type JsonFields<T> = {
  [K in keyof T as K extends string | number ? (undefined extends T[K] ? never : K) : never]: JsonOf<T[K]>;
} & {
  [K in keyof T as K extends string | number ? (undefined extends T[K] ? K : never) : never]?: JsonOf<
    Exclude<T[K], undefined>
  >;
};

/** A Buffer's `toJSON` returns an array of numbers, an invalid date's null: the original value is needed. */
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
      return value; // JSON.stringify itself throws for a bigint
  }
}

/** Plain objects of any realm are recognized: their prototype has no prototype. */
function hidesItsData(value: object): boolean {
  if (Array.isArray(value) || Object.keys(value).length > 0) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** `Object.prototype.toString` knows the built-in classes, the constructor's name those of users. */
function className(value: object): string {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? value.constructor.name || 'class instance' : tag;
}

const remedies: Readonly<Record<string, string>> = {
  Map: 'Return Object.fromEntries(map).',
  Set: 'Return [...set].',
  Headers: 'Return Object.fromEntries(headers).',
  URLSearchParams: 'Return searchParams.toString().',
  Response: 'Return await response.json().',
  Promise: 'Await it first.',
};

const notJson = (what: string) => new TypeError(`JSON cannot represent ${what}. Return plain data.`);

const hiddenData = (name: string) =>
  new TypeError(`JSON cannot represent an object of class ${name}. ${remedies[name] ?? 'Return plain data.'}`);
