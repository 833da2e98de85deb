import { isRecord } from './json/json.js';
import type { JsonValue } from './json/json.js';
import type { Metadata } from './message.js';

/**
 * Merges metadata of a turn or a run. The later value of a key wins, with two exceptions: `serverTools` are merged by
 * `id`, and costs are added.
 *
 * @param earlier The metadata so far; undefined if there is none.
 * @param later The metadata to add.
 * @returns New metadata; neither argument is changed.
 */
export function mergeMetadata(earlier: Metadata | undefined, later: Metadata): Metadata {
  if (!earlier) return later;
  const merged: Record<string, JsonValue> = { ...earlier, ...later };
  const earlierTools = serverTools(earlier);
  const laterTools = serverTools(later);
  if (earlierTools && laterTools) merged['serverTools'] = mergeById([...earlierTools, ...laterTools]);
  if (typeof earlier['cost'] === 'number' && typeof later['cost'] === 'number')
    merged['cost'] = earlier['cost'] + later['cost'];
  return merged;
}

/** The metadata that remains of a retracted attempt: its cost, since the provider charges for the attempt. */
export function metadataOfRetracted(metadata: Metadata | undefined): Metadata | undefined {
  const cost = metadata?.['cost'];
  return cost === undefined ? undefined : { cost };
}

function serverTools({ serverTools: entries }: Metadata): readonly JsonValue[] | undefined {
  return Array.isArray(entries) ? (entries as readonly JsonValue[]) : undefined;
}

/**
 * Merges the entries with the same id, at the position of the first of them; the last value of a field wins. Entries
 * without an id are unchanged.
 */
function mergeById(entries: readonly JsonValue[]): readonly JsonValue[] {
  const merged: JsonValue[] = [];
  const positions = new Map<unknown, number>();
  for (const entry of entries) {
    const id = isRecord(entry) ? entry['id'] : undefined;
    const position = positions.get(id);
    if (position === undefined) {
      if (id !== undefined) positions.set(id, merged.length);
      merged.push(entry);
    } else merged[position] = { ...(merged[position] as Metadata), ...(entry as Metadata) };
  }
  return merged;
}
