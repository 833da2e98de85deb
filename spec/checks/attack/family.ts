import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { RivuletError } from '../../../lib/core/errors.js';

/** A family of attacks: one kind of hostile input, in as many cases as the effort allows. */
export interface Family {
  readonly name: string;
  /** Runs the cases, one after the other. */
  run(check: Check, effort: Effort): Promise<void>;
}

/**
 * Runs one case. It fails when the test throws, does not end in time, or leaves something in the prototypes; and when an
 * exception is not caught meanwhile.
 */
export type Check = (name: string, test: () => unknown) => Promise<void>;

/** How much is done. */
export interface Effort {
  readonly isShort: boolean;
  /** Selects the number for the effort. */
  readonly choose: (short: number, full: number) => number;
}

/** A deterministic source of numbers, so that a failure can be repeated. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  /** A number from 0 to below 1 (mulberry32). */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (limit: number): number => Math.floor(next() * limit);
  return {
    integer,
    pick: <T>(values: readonly [T, ...T[]]): T => values[integer(values.length)] ?? values[0],
  };
}

/** The offsets 1 to `length - 1`, or as many of them, evenly distributed. */
export function offsets(length: number, count: number): readonly number[] {
  const step = Math.max(1, length / count);
  const all = Array.from({ length: Math.floor(length / step) }, (_, index) => Math.round((index + 1) * step));
  return all.filter((offset) => offset < length);
}

/** The codes of errors that a response may cause. */
const responseCodes = new Set(['connection', 'http', 'protocol', 'provider', 'stream_interrupted', 'timeout']);

/** Asserts that a thrown value is an error of Rivulet that a response may cause. */
export function assertTyped(error: unknown): void {
  assert.ok(error instanceof RivuletError, `not a typed error: ${describe(error)}`);
  assert.ok(responseCodes.has(error.code), `the code ${error.code} is not one of a response: ${describe(error)}`);
  JSON.stringify(error);
}

/** An error as one line. */
export function describe(error: unknown): string {
  try {
    const text =
      error instanceof Error ? `${error.name}: ${error.message} ${error.stack?.split('\n')[1] ?? ''}` : String(error);
    return text.replace(/\s+/g, ' ').slice(0, 400);
  } catch {
    return 'an unreadable value';
  }
}

/** The key of all requests. */
export const key = 'sk-attack-0123456789-secret';

/** The beginning of the key that nothing may show. */
const recognisable = key.slice(0, 18);

/** Asserts that a text does not show the key. */
export function assertHidden(where: string, text: string): void {
  const at = text.indexOf(recognisable);
  assert.equal(at, -1, `${where} shows the key: ${text.slice(Math.max(0, at - 60), at + 60)}`);
}

/** All that a log may show of an error. */
export const propertiesOf = (error: unknown): string =>
  [
    String(error),
    inspect(error, { depth: 20, showHidden: true, maxStringLength: null }),
    JSON.stringify(error),
    error instanceof Error ? `${error.stack} ${JSON.stringify(error, Object.getOwnPropertyNames(error))}` : '',
  ].join('\n');
