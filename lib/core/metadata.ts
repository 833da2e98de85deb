import { isRecord } from './json/json.js';
import type { JsonValue } from './json/json.js';
import type { Metadata } from './message.js';

/**
 * Merges metadata of a turn or a run: the last value of a key wins, except that `serverTools` are merged by their `id`
 * and a `cost` is added.
 *
 * @param earlier What was merged before; undefined: nothing.
 * @param later What has arrived since.
 * @returns New metadata; neither argument is changed.
 */
export function mergeMetadata(earlier: Metadata | undefined, later: Metadata): Metadata {
  if (!earlier) return later;
  const merged: Record<string, JsonValue> = { ...earlier, ...later };
  const [before, since] = [serverTools(earlier), serverTools(later)];
  if (before && since) merged['serverTools'] = mergeById([...before, ...since]);
  if (typeof earlier['cost'] === 'number' && typeof later['cost'] === 'number')
    merged['cost'] = earlier['cost'] + later['cost'];
  return merged;
}

/** What stays of the metadata of an attempt that was retracted: it was paid for, whatever became of its content. */
export function metadataOfRetracted(metadata: Metadata | undefined): Metadata | undefined {
  const cost = metadata?.['cost'];
  return cost === undefined ? undefined : { cost };
}

function serverTools({ serverTools: entries }: Metadata): readonly JsonValue[] | undefined {
  return Array.isArray(entries) ? (entries as readonly JsonValue[]) : undefined;
}

/**
 * One entry for each id, where the id was first seen; the last value of a field wins. Entries without an id are kept as
 * they are.
 */
function mergeById(entries: readonly JsonValue[]): readonly JsonValue[] {
  const merged: JsonValue[] = [];
  const places = new Map<unknown, number>();
  for (const entry of entries) {
    const id = isRecord(entry) ? entry['id'] : undefined;
    const place = places.get(id);
    if (place === undefined) {
      if (id !== undefined) places.set(id, merged.length);
      merged.push(entry);
    } else merged[place] = { ...(merged[place] as Metadata), ...(entry as Metadata) };
  }
  return merged;
}
