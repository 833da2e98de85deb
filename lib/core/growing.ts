/** A longer sequence may share the arrays. */
interface Computed<Item, T> {
  readonly items: Item[];
  readonly values: T[];
  readonly length: number;
}

/** Computes only what is new: each turn sends all messages before it again. Items never change. */
export function growing<Item extends object, T>(
  start: T,
  step: (value: T, item: Item, previous: Item | undefined) => T,
): (items: readonly Item[]) => T {
  const known = new WeakMap<Item, Computed<Item, T>>(); // by the last item
  return (sequence) => {
    const last = sequence.at(-1);
    if (last === undefined) return start;
    const beginning = knownBeginning(known, sequence);
    const { items, values } = appendable(beginning);
    let value = values.length > 0 ? (values.at(-1) as T) : start;
    for (const item of sequence.slice(items.length)) {
      value = step(value, item, items.at(-1));
      items.push(item);
      values.push(value);
    }
    if (beginning?.length !== items.length) known.set(last, { items, values, length: items.length });
    return value;
  };
}

/** The longest beginning that an earlier sequence has, too. */
function knownBeginning<Item extends object, T>(
  known: WeakMap<Item, Computed<Item, T>>,
  sequence: readonly Item[],
): Computed<Item, T> | undefined {
  let longest: Computed<Item, T> | undefined;
  for (let at = sequence.length - 1; at >= (longest?.length ?? 0); at--) {
    const item = sequence[at];
    const computed = item && known.get(item);
    if (!computed) continue;
    const length = commonLength(computed, sequence);
    if (length > (longest?.length ?? 0)) longest = { ...computed, length };
  }
  return longest;
}

function commonLength<Item>({ items, length }: Computed<Item, unknown>, sequence: readonly Item[]): number {
  const end = Math.min(length, sequence.length);
  let at = 0;
  while (at < end && items[at] === sequence[at]) at++;
  return at;
}

/** The arrays are returned to append to them. If they have been continued already, they are copied. */
function appendable<Item, T>(beginning: Computed<Item, T> | undefined): Pick<Computed<Item, T>, 'items' | 'values'> {
  if (!beginning) return { items: [], values: [] };
  const { items, values, length } = beginning;
  return items.length === length
    ? { items, values }
    : { items: items.slice(0, length), values: values.slice(0, length) };
}

/** A list that shares its array with the list that it continues. A second continuation copies the array. */
export class SharedList<T> {
  constructor(
    private readonly items: T[] = [],
    readonly length = 0,
  ) {}

  append(added: readonly T[]): SharedList<T> {
    const isLongest = this.length > 0 && this.length === this.items.length;
    const items = isLongest ? this.items : this.items.slice(0, this.length);
    for (const item of added) items.push(item);
    return new SharedList(items, items.length);
  }

  at(index: number): T | undefined {
    return index < this.length ? this.items[index] : undefined;
  }

  toArray(): readonly T[] {
    return this.items.slice(0, this.length);
  }
}

/** Each item is mapped once. */
export function growingList<Item extends object, T>(
  map: (item: Item, previous: Item | undefined) => readonly T[],
): (items: readonly Item[]) => readonly T[] {
  const list = growing<Item, SharedList<T>>(new SharedList(), (mapped, item, previous) =>
    mapped.append(map(item, previous)),
  );
  return (items) => list(items).toArray();
}

/** Each item is mapped once; the same sequence if no item has changed. */
export function growingMap<Item extends object>(
  map: (item: Item) => Item,
): (items: readonly Item[]) => readonly Item[] {
  const mapAll = growingList((item: Item) => [map(item)]);
  return (items) => {
    const mapped = mapAll(items);
    return mapped.every((item, at) => item === items[at]) ? items : mapped;
  };
}
