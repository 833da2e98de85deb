import type { ListPlace } from '../recordPage.js';

/** Records in the order of a list: neither a page from its cursor on nor a change takes longer if there are more. */
export function createRecordList<E extends { readonly record: ListPlace }>() {
  /** The last of the list comes first: one that is changed now is added at the end. What was deleted has no entry. */
  let items: (ListPlace & { entry: E | undefined })[] = [];
  let deleted = 0;
  /** Where a place is, or would be. */
  const indexOf = (place: ListPlace, low = 0, high = items.length): number => {
    if (low === high) return low;
    const middle = (low + high) >> 1;
    const { id, updated } = items[middle] ?? place;
    const isBefore = updated < place.updated || (updated === place.updated && id < place.id);
    return isBefore ? indexOf(place, middle + 1, high) : indexOf(place, low, middle);
  };
  return {
    add: (entry: E) => {
      const { id, updated } = entry.record;
      items.splice(indexOf(entry.record), 0, { id, updated, entry });
    },
    delete: (entry: E) => {
      const item = items[indexOf(entry.record)];
      if (item) item.entry = undefined;
      deleted += 1;
      if (deleted <= items.length / 2) return;
      items = items.filter((one) => one.entry);
      deleted = 0;
    },
    /** The entries after a place, in order. Default: all. */
    *after(place?: ListPlace): Iterable<E> {
      for (let at = place ? indexOf(place) : items.length; at > 0; at -= 1) {
        const { entry } = items[at - 1] ?? {};
        if (entry) yield entry;
      }
    },
  };
}
