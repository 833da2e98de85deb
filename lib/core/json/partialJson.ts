/**
 * Partial JSON: reads one JSON value from text that arrives in chunks, and returns snapshots of the value while it
 * grows.
 *
 * This file is the entry point. `PartialReader` is the state machine over the characters, `PartialString` reads one
 * string, `PartialTree` holds the value and copies snapshots of it, and `scan.ts` classifies characters and matches
 * brackets.
 */
import type { JsonValue } from './json.js';
import { PartialReader } from './partialReader.js';
import type { PartialArray } from './partialTree.js';
import { isClosing } from './scan.js';

/** Reads one JSON value from text that arrives in chunks, and returns snapshots of the value while it grows. */
export interface PartialJson {
  /**
   * Adds text. The cost is linear: each character is read once, however the text is split into chunks. Text after the
   * value is ignored.
   *
   * @returns Whether the text may have changed the value: false after the value is complete, or after an error in the
   * JSON.
   */
  push(text: string): boolean;
  /** Ends the text. This completes a number or a literal at the root, which has no closing character. */
  end(): void;
  /**
   * The value so far; undefined before it begins. A snapshot is a prefix of the final value. It contains open strings,
   * arrays and objects as far as they have been read, numbers and literals only when they have ended, and a key only
   * with its value. A closed array or object is the same object in all later snapshots and never changes; an open one
   * is copied for each snapshot. Without new text, `snapshot` returns the same object as before.
   */
  snapshot(): JsonValue | undefined;
  /**
   * Whether enough text has arrived since the last snapshot to justify the next snapshot. A snapshot copies all open
   * containers, so one snapshot per chunk would have quadratic cost for a long array. The total cost of the snapshots
   * that are due is linear in the text. Always true while the open containers are small.
   */
  isDue(): boolean;
  /** The array at the path. Default: the array at the root, or the first array in a property of the root. */
  array(path?: readonly string[]): PartialArray | undefined;
  /** Whether the value is complete. */
  isDone(): boolean;
  /**
   * The offset of the first character that is not valid JSON; no text is read after it. Undefined if there is no error.
   */
  failedAt(): number | undefined;
}

/**
 * Up to this weight (see `PartialTree.weight`), a snapshot is always due. Above it, a snapshot is due when the new
 * text, at `WEIGHT_PER_CHARACTER`, outweighs the copy. The values were measured with `npm run bench -- --only partial`.
 */
const SMALL_WEIGHT = 128;
const WEIGHT_PER_CHARACTER = 1;

/** The number of buffered characters at which the buffer is read, even if no snapshot is requested. */
const MAX_BUFFERED = 1024;

/**
 * Creates a reader of one JSON value. Whitespace, a byte order mark and the opening of a markdown code fence may
 * precede the value.
 *
 * Text is buffered until a snapshot is requested, for two reasons. For a delta of four characters, the calls into the
 * reader cost as much as reading the characters. And a string or a number that is read in one step is one slice of the
 * text rather than a rope (see `StringBuilder`) with a node per delta.
 */
export function createPartialJson(): PartialJson {
  const reader = new PartialReader();
  const { tree } = reader;
  let buffer = '';
  let mayClose = false; // whether an array or an object may end within the buffer
  let newLength = 0; // characters since the last snapshot

  const readBuffer = () => {
    if (buffer === '') return;
    reader.read(buffer);
    buffer = '';
    mayClose = false;
  };
  return {
    push(text) {
      if (reader.hasEnded()) return false;
      buffer += text;
      newLength += text.length;
      if (buffer.length >= MAX_BUFFERED) readBuffer();
      else if (tree.weight > SMALL_WEIGHT && !mayClose) mayClose = hasClosing(text);
      return true;
    },
    end() {
      readBuffer();
      reader.end();
    },
    snapshot() {
      readBuffer();
      newLength = 0;
      return tree.snapshot(reader.openText());
    },
    isDue() {
      if (mayClose) readBuffer(); // only a closing bracket makes the tree lighter
      return tree.weight <= SMALL_WEIGHT || newLength * WEIGHT_PER_CHARACTER >= tree.weight;
    },
    array(path) {
      readBuffer();
      return tree.array(path);
    },
    isDone() {
      readBuffer();
      return reader.isDone();
    },
    failedAt() {
      readBuffer();
      return reader.failedAt;
    },
  };
}

/** Whether the text contains a closing bracket or brace, possibly within a string. */
function hasClosing(text: string): boolean {
  for (let offset = 0; offset < text.length; offset++) if (isClosing(text.charCodeAt(offset))) return true;
  return false;
}

/**
 * The type of a JSON value that is still growing: any property may be missing, an array may be shorter, and a string
 * (even of an enum) may be incomplete. Numbers, booleans and null are complete.
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
