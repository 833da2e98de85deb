/** How many deltas are collected before they are joined. More gain nothing, and keep more small strings alive. */
const BATCH_SIZE = 256;

/**
 * Builds a text from many small deltas. `+=` for each delta would do the same, but creates a rope: a node of 32 bytes
 * per delta that keeps the delta alive, and the garbage collections during the stream copy all of them. Joined by the
 * hundred, they die young. Measured: ropes were a third of the CPU time above the hand-written floor.
 */
export class StringBuilder {
  /** The number of characters so far. */
  length = 0;
  private joined = '';
  /** Created with the first delta: most texts of a response (thinking, a refusal) stay empty. */
  private deltas: string[] | undefined;

  add(delta: string): void {
    this.length += delta.length;
    if (this.deltas === undefined) this.deltas = [delta];
    else if (this.deltas.push(delta) === BATCH_SIZE) this.join();
  }

  /** The complete text. */
  toString(): string {
    if (this.deltas) this.join();
    return this.joined;
  }

  private join(): void {
    this.joined += this.deltas?.join('') ?? '';
    this.deltas = undefined;
  }
}
