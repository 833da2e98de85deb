/**
 * Partial JSON: reads one JSON value from text that arrives in chunks, and returns snapshots of the value while it
 * grows.
 *
 * This file is the entry. `PartialReader` is the state machine over the characters, `PartialString` reads one string,
 * `PartialTree` holds the value and copies snapshots of it, and `scan.ts` knows the characters and the brackets.
 */
import type { JsonValue } from './json.js';
import { PartialReader } from './partialReader.js';
import type { PartialArray } from './partialTree.js';
import { isClosing } from './scan.js';

/** Reads one JSON value from text that arrives in chunks, and returns snapshots of the value while it grows. */
export interface PartialJson {
  /**
   * Takes more text. The cost is linear: each character is read once, however the text is cut. Text after the value is
   * ignored.
   *
   * @returns Whether the text may have changed the value: false once the value is complete or the text is known not to
   * be JSON.
   */
  push(text: string): boolean;
  /** Announces the end of the text. It completes a number or a literal at the root, which no character ends. */
  end(): void;
  /**
   * The value so far; undefined before it begins. A snapshot is a prefix of the final value: open strings, arrays and
   * objects are included as far as they have been read, numbers and literals once they have ended, a key together with
   * its value. A value that has closed is the same object in all later snapshots and never changes; an open one is
   * copied. Without new text, `snapshot` returns the same object as before.
   */
  snapshot(): JsonValue | undefined;
  /**
   * Whether enough text has arrived since the last snapshot to be worth the next. A snapshot copies what is open, so
   * one per chunk would be quadratic in a long array; due snapshots are linear in the text. Always true while the open
   * part is small.
   */
  isDue(): boolean;
  /** The array at the path. Default: the array at the root, or the first array in a property of the root. */
  array(path?: readonly string[]): PartialArray | undefined;
  /** Whether the value is complete. */
  isDone(): boolean;
  /** The offset at which the text stopped being JSON; nothing after it is read. Undefined for valid text. */
  failedAt(): number | undefined;
}

/**
 * Up to this weight every snapshot is due; above it, one per `WEIGHT_PER_CHARACTER` of new text. Measured: `npm run
 * bench -- --only partial`.
 */
const SMALL_WEIGHT = 128;
const WEIGHT_PER_CHARACTER = 1;

/** The buffer is read when it has so many characters. */
const MAX_BUFFERED = 1024;

/**
 * Creates a reader of one JSON value. White space, a byte order mark and the opening of a markdown fence may precede
 * the value.
 *
 * Text is buffered until a snapshot is requested: for a delta of four characters, entering and leaving the reader costs
 * as much as reading, and a string or a number that is read at once is one slice of the text instead of a rope with a
 * node per delta.
 */
export function createPartialJson(): PartialJson {
  const reader = new PartialReader();
  const { tree } = reader;
  let buffer = '';
  let mayClose = false; // whether an array or an object may end within the buffer
  let unseenLength = 0; // characters since the last snapshot

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
      unseenLength += text.length;
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
      unseenLength = 0;
      return tree.snapshot(reader.openText());
    },
    isDue() {
      if (mayClose) readBuffer(); // only a closing bracket makes the tree lighter
      return tree.weight <= SMALL_WEIGHT || unseenLength * WEIGHT_PER_CHARACTER >= tree.weight;
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

/** Whether the text has a closing bracket or brace. It may be part of a string. */
function hasClosing(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isClosing(text.charCodeAt(at))) return true;
  return false;
}

/**
 * The type of a JSON value that is still growing: any property may be missing, an array may be shorter, and a string
 * (also one of an enum) may be cut. Numbers, booleans and null are complete.
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
