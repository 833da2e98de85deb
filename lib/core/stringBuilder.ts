import { TextTooLongError } from './errors.js';

/** The longest string of V8 on 64-bit machines. Longer ones are a RangeError; other engines allow twice as much. */
const LONGEST_TEXT = 536_870_888; // 2^29 - 24

/** A larger batch is not faster, and keeps more small strings alive. */
const BATCH_SIZE = 256;

/** The length from which a delta is not copied into a batch: a node of the rope costs less than its copy. */
const LARGE_DELTA = 4096;

/**
 * A delta passes a decoder, `consolidate` and `endRun` in one call stack, and each collects it: a builder whose batch
 * has the same text keeps this string. 100 MB of text took 300 MB without it (spec/checks/bench/textMemory.ts).
 */
let lastBatch = '';

/**
 * With `+=`, V8 keeps appended strings as a rope until it is read: each delta stays alive, and every garbage collection
 * copies all of them. Ropes took a third of the CPU time above that of a hand-written loop (measured).
 */
export class StringBuilder {
  length = 0;
  private joined = '';
  /** Created with the first delta: most texts of a response (thinking, a refusal) stay empty. */
  private deltas: string[] | undefined;

  constructor(private readonly limit = LONGEST_TEXT) {}

  add(delta: string): void {
    this.length += delta.length;
    if (this.length > this.limit) throw new TextTooLongError(this.limit);
    if (delta.length >= LARGE_DELTA) {
      this.join();
      this.joined += delta;
    } else if (this.deltas === undefined) this.deltas = [delta];
    else if (this.deltas.push(delta) === BATCH_SIZE) this.join();
  }

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
