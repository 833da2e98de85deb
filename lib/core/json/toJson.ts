import { errorText } from '../errors.js';
import { base64 } from '../message.js';
import { reportRejection } from '../reportUnhandled.js';
import type { JsonValue } from './json.js';

/**
 * @throws TypeError for what `JSON.stringify` would silently turn into null or `{}`: functions, `NaN`, circular
 * structures, objects whose data is not in properties (`Map`, `Response`, Promises). It names the place of the first.
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  let refusal: TypeError | undefined;
  // The objects around the current value, as `toJSON` returned them, and the names of their fields.
  const holders: unknown[] = [];
  const path: string[] = [];
  let entered: unknown;
  // It reads the rest of the value, too: Node would end the process for a Promise that rejects.
  const text = JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key: string, given: unknown) {
    holders.length = this === entered ? holders.push(this) : holders.lastIndexOf(this) + 1;
    path[holders.length] = key;
    entered = given;
    const original = this[key];
    const replaced = replaceBytes(original);
    const problem = replaced === undefined ? problemOf(original, given) : undefined;
    if (problem === undefined) return replaced ?? given;
    reportRejection(original);
    refusal ??= new TypeError(
      `JSON cannot represent ${problem}${placeOf(path.slice(1, holders.length + 1))}. ${remedyOf(given)}`,
    );
    return null;
  }) as string | undefined; // undefined for undefined
  if (refusal) throw refusal;
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
function replaceBytes(original: unknown): string | undefined {
  if (original instanceof Error) return errorText(original);
  if (original instanceof ArrayBuffer) return base64(new Uint8Array(original));
  if (!ArrayBuffer.isView(original)) return undefined;
  return base64(new Uint8Array(original.buffer, original.byteOffset, original.byteLength));
}

function problemOf(original: unknown, given: unknown): string | undefined {
  if (original instanceof Date && given === null) return 'an invalid Date';
  switch (typeof given) {
    case 'function':
    case 'symbol':
    case 'bigint':
      return `a ${typeof given}`;
    case 'number':
      return Number.isFinite(given) ? undefined : String(given);
    case 'object':
      return given !== null && hidesItsData(given) ? `an object of class ${className(given)}` : undefined;
    default:
      return undefined;
  }
}

const placeOf = (names: readonly string[]): string => (names.length > 0 ? ` at "${names.join('.')}"` : '');

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

const remedyOf = (given: unknown) =>
  (typeof given === 'object' && given ? remedies[className(given)] : undefined) ?? 'Return plain data.';
