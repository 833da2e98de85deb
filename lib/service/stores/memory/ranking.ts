/** An item of a `Ranking`. */
export interface Ranked {
  readonly id: string;
  /** The lowest one is the first. */
  rank: number;
  /** Of items with the same rank, the one with the lowest number is the first. */
  order: number;
  /** Where the `Ranking` has it. */
  place: number;
}

/** Items by their rank (a binary heap): the first one is known, and a change takes the logarithm of their number. */
export class Ranking<T extends Ranked> {
  private readonly items: T[] = [];

  get first(): T | undefined {
    return this.items[0];
  }

  /** Adds an item, or moves it. */
  set(item: T, rank: number): void {
    item.rank = rank;
    this.put(item, this.items[item.place] === item ? item.place : this.items.length);
  }

  delete(item: T): void {
    if (this.items[item.place] !== item) return;
    const last = this.items.pop();
    if (last && last !== item) this.put(last, item.place);
  }

  /** Puts an item where it belongs, up or down from a free place. */
  private put(item: T, free: number): void {
    const { items } = this;
    const [parent, left, right] = [items[(free - 1) >> 1], items[2 * free + 1], items[2 * free + 2]];
    const child = isBefore(right, left) ? right : left;
    const other = isBefore(child, item) ? child : parent;
    const moved = other && (other === child || isBefore(item, other)) ? other : item;
    const { place } = moved;
    items[free] = moved;
    moved.place = free;
    if (moved !== item) this.put(item, place);
  }
}

const isBefore = (a?: Ranked, b?: Ranked): boolean =>
  a !== undefined && b !== undefined && (a.rank < b.rank || (a.rank === b.rank && a.order < b.order));
