/** The entry point of partial JSON: `PartialReader` reads characters, `PartialTree` copies snapshots. */
import type { JsonValue } from './json.js';
import { PartialReader } from './partialReader.js';
import type { PartialArray } from './partialTree.js';
import { isClosing } from './scan.js';

export interface PartialJson {
  /** Text after the value is ignored. False if the value cannot have changed. */
  push(text: string): boolean;
  /** This completes a number or a literal at the root. */
  end(): void;
  /**
   * A prefix of the final value: open strings as far as read, scalars when they have ended. Closed containers are the
   * same object in all later snapshots, and so is a snapshot without new text.
   */
  snapshot(): JsonValue | undefined;
  /** A copy of the open containers per chunk would be quadratic, so it waits for text. True while they are small. */
  isDue(): boolean;
  /** Default: the array at the root, or the first array in a property of the root. */
  array(path?: readonly string[]): PartialArray | undefined;
  isDone(): boolean;
  /** The offset of the first invalid character; no text is read after it. */
  failedAt(): number | undefined;
}

/** Due up to this weight, or when new text outweighs the copy (`npm run bench -- --only partial`). */
const SMALL_WEIGHT = 128;
const WEIGHT_PER_CHARACTER = 1;

/** Characters: at this number, the buffer is read, even if no snapshot is requested. */
const MAX_BUFFERED = 1024;

/**
 * After white space, a byte order mark or a code fence. It buffers until a snapshot is requested: for four
 * characters, the calls cost as much as reading, and one slice is cheaper than a rope (see `StringBuilder`).
 */
export function createPartialJson(): PartialJson {
  const reader = new PartialReader();
  const { tree } = reader;
  let buffer = '';
  let mayClose = false;
  let newLength = 0;

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
