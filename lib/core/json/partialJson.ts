import type { JsonValue } from './json.js';
import { JsonReader } from './partialReader.js';
import type { JsonList } from './partialTree.js';
import { closes } from './scan.js';

/** Reads one JSON value from text that comes in pieces, and shows it while it grows. */
export interface PartialJson {
  /**
   * Takes more text. Linear: each character is read once, however the text is cut. What follows the value is ignored.
   *
   * @returns Whether it may have changed the value: false when that is known to be whole, or the text is known not to be JSON.
   */
  push(text: string): boolean;
  /** Nothing more comes: a number or a literal at the root, which no character ends, is whole. */
  end(): void;
  /**
   * The value so far; undefined while there is none. A prefix of the final value: open strings, arrays and objects are shown as far as they have come,
   * numbers and literals when they have ended, a key with its value. What has closed is the same object in all later snapshots, and is never
   * changed; what is open is copied. The same object as before, if nothing came since.
   */
  snapshot(): JsonValue | undefined;
  /**
   * Whether enough has come since the last snapshot to pay for the next. A snapshot copies what is open, so one for each piece would be quadratic
   * in a long list; those that are due are linear in the text. Always, while what is open is small.
   */
  isDue(): boolean;
  /** The array at the path; without one, the array at the root, or the first in a property of the root. */
  list(path?: readonly string[]): JsonList | undefined;
  /** Whether the value is whole. */
  isDone(): boolean;
  /** Where the text ceased to be JSON: the offset from its beginning, after which nothing is read. Undefined: it has not. */
  failedAt(): number | undefined;
}

/** Up to this weight every snapshot is due; beyond, after a character for each `PER_CHARACTER`. Measured: `npm run bench -- --only partial`. */
const SMALL = 128;
const PER_CHARACTER = 1;

/** So many characters wait at most. */
const BATCH = 1024;

/**
 * Begins to read. White space, a byte order mark and the opening of a markdown fence may stand before the value.
 *
 * Text waits until someone looks: a delta of four characters costs as much to enter and leave the reader as to read, and a string or a number in one
 * piece is a slice of it, instead of a rope of a node for each delta.
 */
export function createPartialJson(): PartialJson {
  const reader = new JsonReader();
  const { tree } = reader;
  let waiting = '';
  let mayClose = false; // whether a container may close in what waits
  let unpaid = 0; // characters since the last snapshot

  const read = () => {
    if (waiting === '') return;
    reader.read(waiting);
    waiting = '';
    mayClose = false;
  };
  return {
    push(text) {
      if (reader.hasEnded()) return false;
      waiting += text;
      unpaid += text.length;
      if (waiting.length >= BATCH) read();
      else if (tree.weight > SMALL && !mayClose) mayClose = hasClosing(text);
      return true;
    },
    end() {
      read();
      reader.end();
    },
    snapshot() {
      read();
      unpaid = 0;
      return tree.snapshot(reader.openText());
    },
    isDue() {
      if (mayClose) read(); // only what closes makes it lighter
      return tree.weight <= SMALL || unpaid * PER_CHARACTER >= tree.weight;
    },
    list(path) {
      read();
      return tree.list(path);
    },
    isDone() {
      read();
      return reader.isDone();
    },
    failedAt() {
      read();
      return reader.failedAt;
    },
  };
}

/** Whether a bracket or a brace closes in it, or might: they may also stand in a string. */
function hasClosing(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (closes(text.charCodeAt(at))) return true;
  return false;
}

/**
 * What a JSON value may look like while it grows: any property may be missing, an array short, and a string, one of an enum too, not yet at its end.
 * Numbers, booleans and null come whole.
 */
export type DeepPartial<T> = unknown extends T
  ? T
  : T extends string
    ? string
    : T extends readonly (infer Element)[]
      ? readonly DeepPartial<Element>[]
      : T extends object
        ? {
            readonly [Key in keyof T]?: DeepPartial<T[Key]>;
          }
        : T;
