interface Computed<Item, T> {
  /** A longer sequence may share the array. */
  readonly items: Item[];
  readonly length: number;
  readonly values: readonly T[];
}

/** The next sequence may replace the end of the one before it, for example a reminder. */
const KEPT_VALUES = 8;

/** Computes only what is new: each turn sends all messages before it again. Items never change. */
export function growing<Item extends object, T>(
  start: T,
  step: (value: T, item: Item, previous: Item | undefined) => T,
): (items: readonly Item[]) => T {
  const known = new WeakMap<Item, Computed<Item, T>>(); // by the last item
  return (sequence) => {
    const { items: shared, length, values: kept } = knownBeginning(known, sequence);
    const items = shared.length === length ? shared : shared.slice(0, length); // another sequence has continued it
    const values = [...kept];
    let value = length > 0 ? (values.at(-1) as T) : start;
    for (const item of sequence.slice(length)) {
      value = step(value, item, items.at(-1));
      items.push(item);
      if (values.push(value) > KEPT_VALUES) values.shift();
    }
    const last = items.at(-1);
    if (last && items.length > length) known.set(last, { items, values, length: items.length });
    return value;
  };
}

/** The longest beginning that an earlier sequence has, too. */
function knownBeginning<Item extends object, T>(
  known: WeakMap<Item, Computed<Item, T>>,
  sequence: readonly Item[],
): Computed<Item, T> {
  let longest: Computed<Item, T> = { items: [], length: 0, values: [] };
  for (let at = sequence.length - 1; at >= longest.length; at--) {
    const item = sequence[at];
    const computed = item && known.get(item);
    if (!computed) continue;
    const length = Math.min(computed.length, commonLength(computed.items, sequence));
    const left = computed.values.length - (computed.length - length);
    if (left > 0 && length > longest.length)
      longest = { items: computed.items, length, values: computed.values.slice(0, left) };
  }
  return longest;
}

function commonLength<Item>(items: readonly Item[], sequence: readonly Item[]): number {
  let at = 0;
  while (at < sequence.length && items[at] === sequence[at]) at++;
  return at;
}

/** A list that shares its array with the list that it continues. A second continuation copies the array. */
export class SharedList<T> {
  constructor(
    private readonly items: T[] = [],
    readonly length = 0,
  ) {}

  append(added: readonly T[]): SharedList<T> {
    const isLongest = this.length > 0 && this.length === this.items.length;
    if (isLongest) for (const item of added) this.items.push(item);
    const items = isLongest ? this.items : this.items.slice(0, this.length).concat(added);
    return new SharedList(items, items.length);
  }

  at(index: number): T | undefined {
    return index < this.length ? this.items[index] : undefined;
  }

  toArray(): readonly T[] {
    return this.items.slice(0, this.length);
  }
}

export function growingList<Item extends object, T>(
  map: (item: Item) => readonly T[],
): (items: readonly Item[]) => readonly T[] {
  const list = growing<Item, SharedList<T>>(new SharedList(), (mapped, item) => mapped.append(map(item)));
  return (items) => list(items).toArray();
}
