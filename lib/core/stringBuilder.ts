import { TextTooLongError } from './errors.js';

/** The longest string of V8 on 64-bit machines. Longer ones are a RangeError; other engines allow twice as much. */
const LONGEST_TEXT = 536_870_888; // 2^29 - 24

/**
 * The number of deltas that are collected before they are joined. A larger batch is not faster, and keeps more small
 * strings alive.
 */
const BATCH_SIZE = 256;

/** The length from which a delta is not copied into a batch: a node of the rope costs less than its copy. */
const LARGE_DELTA = 4096;

/**
 * The last batch that any builder has joined. A delta passes through a decoder, `consolidate` and `endRun` in one call
 * stack, and each collects it: a builder whose batch has the same text keeps this string instead of its own copy. 100
 * MB of text took 300 MB without it (measured: spec/checks/bench/textMemory.ts).
 */
let lastBatch = '';

/**
 * Builds a text from many small deltas. With `+=`, V8 keeps the appended strings as a rope (a tree of them) until the
 * text is read: each delta stays alive, with a node of 32 bytes, and every garbage collection during the stream copies
 * all of them. Deltas that are joined in batches are released early. Ropes took a third of the CPU time above that of a
 * hand-written loop (measured).
 */
export class StringBuilder {
  /** The number of characters so far. */
  length = 0;
  private joined = '';
  /** Created with the first delta: most texts of a response (thinking, a refusal) stay empty. */
  private deltas: string[] | undefined;

  /** @param limit The longest text, in characters. Default: the longest that an engine can hold. */
  constructor(private readonly limit = LONGEST_TEXT) {}

  /** @throws TextTooLongError */
  add(delta: string): void {
    this.length += delta.length;
    if (this.length > this.limit) throw new TextTooLongError(this.limit);
    if (delta.length >= LARGE_DELTA) {
      this.join();
      this.joined += delta;
    } else if (this.deltas === undefined) this.deltas = [delta];
    else if (this.deltas.push(delta) === BATCH_SIZE) this.join();
  }

  /** The complete text. */
  toString(): string {
    this.join();
    return this.joined;
  }

  private join(): void {
    if (this.deltas === undefined) return;
    const batch = this.deltas.join('');
    if (batch !== lastBatch) lastBatch = batch;
    this.joined += lastBatch;
    this.deltas = undefined;
  }
}
