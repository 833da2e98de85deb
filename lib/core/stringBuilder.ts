import { TextTooLongError } from './errors.js';

/** The limit of V8 on 64-bit machines. Longer texts are a RangeError; other engines allow twice as much. */
const LONGEST_TEXT = 536_870_888; // 2^29 - 24

/** A larger batch is not faster, and keeps more small strings alive. */
const BATCH_SIZE = 256;

/** From this length on, a node of the rope costs less than a copy into a batch. */
const LARGE_DELTA = 4096;

/** Several builders collect the same deltas: they share equal batches, a third of the memory (bench/textMemory.ts). */
let lastBatch = '';

/** A rope (`+=`) keeps each delta alive, and caused a third of what a run costs more than a plain loop (measured). */
export class StringBuilder {
  length = 0;
  private joined = '';
  /** Most texts of a response (thinking, a refusal) stay empty. */
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
