import { finiteNumber, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import {
  readArguments,
  compactArguments,
  compactJson,
  completesCall,
  continuesTexts,
  haveSameFunction,
  mayBeSameCall,
} from './item.js';
import type { Item } from './item.js';
import { ItemTexts } from './texts.js';

/**
 * The output items of one response, in the order in which they began. A snapshot is an item as it is contained in an
 * event or in the final response.
 */
export interface Items {
  readonly all: readonly Item[];
  /** Returns the item that `output_item.added` announces. */
  added(snapshot: JsonObject, event: JsonObject): Item;
  /** Returns the item that any other event belongs to. */
  find(type: string, event: JsonObject): Item;
  /** Returns the item that `output_item.done` completes. */
  done(snapshot: JsonObject, event: JsonObject): Item;
  /** Pairs each snapshot in the output of the final response with its item. */
  match(output: readonly JsonObject[]): readonly (readonly [Item, JsonObject])[];
}

/**
 * Creates the list of output items. It finds the item that an event belongs to, and opens a new item if there is none.
 *
 * According to the reference, events identify their item by `item_id` and `output_index`. Some servers send the
 * same index for all items, an index that changes, ids that differ between events, or no ids. Therefore a known id
 * decides. If the id is unknown or missing, the call's id, the index, the type and the text so far decide. A call keeps
 * its first id, because some servers send new ids in later snapshots.
 */
export function createItems(): Items {
  const all: Item[] = [];
  const byId = new Map<string, Item>();
  const byIndex = new Map<number, Item>();
  const byCallId = new Map<string, Item[]>();
  const openByType = new Map<string, Item[]>(); // the last one may be done

  const open = (type: string, id: string | undefined, index: number | undefined, added?: JsonObject): Item => {
    const key = id !== undefined && !byId.has(id) ? id : `${id ?? 'item'}#${all.length}`;
    const callId = nonEmptyString(added?.['call_id']);
    const item: Item = {
      type,
      key,
      id,
      added,
      done: undefined,
      callId,
      isEmitted: false,
      foundById: false,
      texts: new ItemTexts(),
    };
    all.push(item);
    addTo(openByType, type, item);
    if (callId !== undefined) addTo(byCallId, callId, item);
    if (index !== undefined) byIndex.set(index, item);
    return addId(item, id);
  };
  const addId = (item: Item, id: string | undefined): Item => {
    if (id !== undefined) byId.set(id, item);
    return item;
  };

  const findById = (type: string, id: string | undefined): Item | undefined => {
    const item = id === undefined ? undefined : byId.get(id);
    return item?.type === type ? item : undefined;
  };
  const findByCallId = (type: unknown, callId: string | undefined): Item | undefined =>
    callId === undefined ? undefined : byCallId.get(callId)?.find((item) => item.type === type);
  const lastOpen = (type: string): Item | undefined => {
    const items = openByType.get(type) ?? [];
    while (items.at(-1)?.done) items.pop();
    return items.at(-1);
  };
  /** The item has the snapshot. The first id of a call is kept. */
  const withSnapshot = (item: Item, snapshot: JsonObject): Item => {
    const callId = nonEmptyString(snapshot['call_id']);
    if (item.callId !== undefined || callId === undefined) return item;
    item.callId = callId;
    addTo(byCallId, callId, item);
    return item;
  };
  /** Returns the open item at an index; if the index is undefined, the last open item of the type. */
  const findOpen = (type: string, index: number | undefined): Item | undefined => {
    const item = index === undefined ? lastOpen(type) : byIndex.get(index);
    return item?.type === type && !item.done ? item : undefined;
  };

  const findAdded = (snapshot: JsonObject, event: JsonObject): Item => {
    const { type, id, index } = readIdentity(snapshot, event);
    const item = findById(type, id);
    return item && !item.done && mayBeSameCall(item, snapshot) ? item : open(type, id, index, snapshot);
  };
  const findDone = (snapshot: JsonObject, event: JsonObject): Item => {
    const { type, id, index, callId } = readIdentity(snapshot, event);
    const item = findById(type, id);
    if (item && mayBeSameCall(item, snapshot)) return item;
    const candidate = findByCallId(type, callId) ?? findOpen(type, index);
    if (candidate && continuesTexts(candidate, snapshot)) return addId(candidate, id);
    if (item && completesCall(item, snapshot)) return addId(item, id);
    // A snapshot that has an unknown id and no index is a new item.
    const mayBeCandidate = index !== undefined || id === undefined;
    if (mayBeCandidate && candidate && completesCall(candidate, snapshot)) return addId(candidate, id);
    return open(type, id, index);
  };
  const findFinal = (snapshot: JsonObject): Item | undefined => {
    const { type, id, callId } = readIdentity(snapshot);
    const item = findById(type, id);
    return item && mayBeSameCall(item, snapshot) ? item : findByCallId(type, callId);
  };

  return {
    all,
    added: findAdded,
    find(type, event) {
      const id = nonEmptyString(event['item_id']);
      const index = finiteNumber(event['output_index']);
      // Some servers send the call's id instead of the item's id.
      const item = findById(type, id) ?? byCallId.get(id ?? '')?.find((one) => one.type === type && !one.done);
      if (item) {
        item.foundById = true;
        return item;
      }
      const candidate = findOpen(type, index);
      return candidate && (id === undefined || !candidate.foundById) ? addId(candidate, id) : open(type, id, index);
    },
    done: (snapshot, event) => withSnapshot(findDone(snapshot, event), snapshot),
    match(output) {
      const items = matchRenamed(output, output.map(findFinal), all);
      return output.map((snapshot, position) => {
        const { type, id } = readIdentity(snapshot);
        const item = items[position] ?? open(type, id, undefined);
        return [withSnapshot(item, snapshot), snapshot] as const;
      });
    },
  };
}

function addTo(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/**
 * Pairs the snapshots of the final response whose ids are unknown with the items that have no snapshot yet: calls by
 * name and arguments, other items by the texts so far. vLLM generates new ids for the final response
 * (vllm-project/vllm#47916). If the repetition were taken for a second call, the tool would run twice.
 *
 * @param output The snapshots.
 * @param known The item of each snapshot that was found by an id.
 * @param all All items.
 */
function matchRenamed(
  output: readonly JsonObject[],
  known: readonly (Item | undefined)[],
  all: readonly Item[],
): readonly (Item | undefined)[] {
  const items = [...known];
  const matched = new Set(known);
  const unmatched = all.filter((item) => !matched.has(item));
  const byType = groupItems(unmatched, ({ type }) => type);
  const byArguments = groupItems(unmatched, compactArguments);
  const matchAll = (
    candidatesFor: (snapshot: JsonObject) => Set<Item> | undefined,
    isSame: (item: Item, snapshot: JsonObject) => boolean,
  ) =>
    output.forEach((snapshot, position) => {
      if (items[position]) return;
      const item = firstOf(candidatesFor(snapshot), (candidate) => isSame(candidate, snapshot));
      if (!item) return;
      items[position] = item;
      byType.get(item.type)?.delete(item);
      byArguments.get(compactArguments(item))?.delete(item);
    });
  const sameType = ({ type }: JsonObject) => byType.get(nonEmptyString(type) ?? '');
  matchAll((snapshot) => byArguments.get(compactJson(readArguments(snapshot))), haveSameFunction);
  matchAll(sameType, continuesTexts);
  matchAll(sameType, completesCall);
  return items;
}

function groupItems(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, Set<Item>> {
  const groups = new Map<string, Set<Item>>();
  for (const item of items) groups.set(keyOf(item), (groups.get(keyOf(item)) ?? new Set()).add(item));
  return groups;
}

/**
 * How many items a snapshot is compared with. Servers send the output in the order of its items: mostly the first one
 * is the same.
 */
const MAX_CANDIDATES = 100;

function firstOf(items: Iterable<Item> = [], isSame: (item: Item) => boolean): Item | undefined {
  let compared = 0;
  for (const item of items) {
    if (isSame(item)) return item;
    if (++compared === MAX_CANDIDATES) return undefined;
  }
  return undefined;
}

/** Reads the fields that identify the item of a snapshot. */
function readIdentity(snapshot: JsonObject, event: JsonObject = {}) {
  return {
    type: nonEmptyString(snapshot['type']) ?? '',
    id: nonEmptyString(snapshot['id']) ?? nonEmptyString(event['item_id']),
    index: finiteNumber(event['output_index']),
    callId: nonEmptyString(snapshot['call_id']),
  };
}
