import type { ListPlace } from '../recordPage.js';

/** Records in the order of a list: a page begins at its cursor, whatever the number of records. */
export class RecordList<E extends { readonly record: ListPlace }> {
  /** The last one of the list comes first: one that is changed now is added at the end. */
  private readonly entries: E[] = [];

  add(entry: E): void {
    this.entries.splice(this.indexOf(entry.record), 0, entry);
  }

  delete(entry: E): void {
    this.entries.splice(this.indexOf(entry.record), 1);
  }

  /** The first `count` entries after a place that are asked for. */
  find(count: number, isMeant: (entry: E) => boolean, after?: ListPlace): readonly E[] {
    const found: E[] = [];
    for (let at = after ? this.indexOf(after) : this.entries.length; at > 0 && found.length < count; at -= 1) {
      const entry = this.entries[at - 1];
      if (entry && isMeant(entry)) found.push(entry);
    }
    return found;
  }

  /** Where a place is, or would be. */
  private indexOf(place: ListPlace): number {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { id = '', updated = 0 } = this.entries[middle]?.record ?? {};
      if (updated < place.updated || (updated === place.updated && id < place.id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
