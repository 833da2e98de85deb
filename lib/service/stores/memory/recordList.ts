import type { ListPlace } from '../recordPage.js';

/** Records in the order of a list: a page begins at its cursor, whatever the number of records. */
export function createRecordList<E extends { readonly record: ListPlace }>() {
  /** The last one of the list comes first: one that is changed now is added at the end. */
  const entries: E[] = [];
  /** Where a place is, or would be. */
  const indexOf = (place: ListPlace, low = 0, high = entries.length): number => {
    if (low === high) return low;
    const middle = (low + high) >> 1;
    const { id, updated } = entries[middle]?.record ?? place;
    const isBefore = updated < place.updated || (updated === place.updated && id < place.id);
    return isBefore ? indexOf(place, middle + 1, high) : indexOf(place, low, middle);
  };
  return {
    add: (entry: E) => void entries.splice(indexOf(entry.record), 0, entry),
    delete: (entry: E) => void entries.splice(indexOf(entry.record), 1),
    /** The entries after a place, in order. Default: all. */
    *after(place?: ListPlace): Iterable<E> {
      for (let at = place ? indexOf(place) : entries.length; at > 0; at -= 1) yield* entries.slice(at - 1, at);
    },
  };
}
