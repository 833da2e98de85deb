import { finiteNumber, nonEmptyString, type JsonObject } from '../../core/json/json.js';
import { addToList } from '../../core/lists.js';
import {
  readArguments,
  compactArguments,
  compactJson,
  completesCall,
  continuesTexts,
  haveSameFunction,
  Item,
  mayBeSameCall,
} from './item.js';

/** Servers repeat or change indexes and ids: a known id decides, else the call id, index, type and text so far. */
export class Items {
  readonly all: Item[] = [];
  private readonly byId = new Map<string, Item>();
  private readonly byIndex = new Map<number, Item>();
  private readonly byCallId = new Map<string, Item[]>();
  private readonly openByType = new Map<string, Item[]>();

  has(id: string): boolean {
    return this.byId.has(id);
  }

  added(snapshot: JsonObject, event: JsonObject): Item {
    const { type, id, index } = readIdentity(snapshot, event);
    const item = this.findById(type, id);
    return item && !item.done && mayBeSameCall(item, snapshot) ? item : this.open(type, id, index, snapshot);
  }

  find(type: string, event: JsonObject): Item {
    const id = nonEmptyString(event['item_id']);
    const item = this.findById(type, id) ?? this.findOpenCall(type, id);
    if (item) {
      item.foundById = true;
      return item;
    }
    const index = finiteNumber(event['output_index']);
    const candidate = this.findOpen(type, index);
    return candidate && (id === undefined || !candidate.foundById)
      ? this.addId(candidate, id)
      : this.open(type, id, index);
  }

  done(snapshot: JsonObject, event: JsonObject): Item {
    return this.withSnapshot(this.findDone(snapshot, event), snapshot);
  }

  match(output: readonly JsonObject[]): readonly (readonly [Item, JsonObject])[] {
    const known = output.map((snapshot) => this.findFinal(snapshot));
    const items = matchRenamed(output, known, this.all);
    return output.map((snapshot, position) => {
      const { type, id } = readIdentity(snapshot);
      const item = items[position] ?? this.open(type, id, undefined);
      return [this.withSnapshot(item, snapshot), snapshot] as const;
    });
  }

  private open(type: string, id: string | undefined, index: number | undefined, added?: JsonObject): Item {
    // OpenAI's have 60 characters. A longer one is not repeated for each fragment and part.
    const name = id !== undefined && id.length <= 200 ? id : 'item';
    const key = name === id && !this.byId.has(id) ? id : `${name}#${this.all.length}`;
    const item = new Item(type, key, id, added);
    this.all.push(item);
    addToList(this.openByType, type, item);
    if (item.callId !== undefined) addToList(this.byCallId, item.callId, item);
    if (index !== undefined) this.byIndex.set(index, item);
    return this.addId(item, id);
  }

  private addId(item: Item, id: string | undefined): Item {
    if (id !== undefined) this.byId.set(id, item);
    return item;
  }

  private findById(type: string, id: string | undefined): Item | undefined {
    const item = id === undefined ? undefined : this.byId.get(id);
    return item?.type === type ? item : undefined;
  }

  private findByCallId(type: unknown, callId: string | undefined): Item | undefined {
    return callId === undefined ? undefined : this.byCallId.get(callId)?.find((item) => item.type === type);
  }

  /** Some servers send the call's id instead of the item's id. */
  private findOpenCall(type: string, callId: string | undefined): Item | undefined {
    const calls = callId === undefined ? undefined : this.byCallId.get(callId);
    return calls?.find((item) => item.type === type && !item.done);
  }

  private findOpen(type: string, index: number | undefined): Item | undefined {
    const item = index === undefined ? this.lastOpen(type) : this.byIndex.get(index);
    return item?.type === type && !item.done ? item : undefined;
  }

  private lastOpen(type: string): Item | undefined {
    const items = this.openByType.get(type) ?? [];
    while (items.at(-1)?.done) items.pop();
    return items.at(-1);
  }

  private findDone(snapshot: JsonObject, event: JsonObject): Item {
    const { type, id, index, callId } = readIdentity(snapshot, event);
    const item = this.findById(type, id);
    if (item && mayBeSameCall(item, snapshot)) return item;
    const candidate = this.findByCallId(type, callId) ?? this.findOpen(type, index);
    if (candidate && continuesTexts(candidate, snapshot)) return this.addId(candidate, id);
    if (item && completesCall(item, snapshot)) return this.addId(item, id);
    // A snapshot that has an unknown id and no index is a new item.
    const mayBeCandidate = index !== undefined || id === undefined;
    if (mayBeCandidate && candidate && completesCall(candidate, snapshot)) return this.addId(candidate, id);
    return this.open(type, id, index);
  }

  private findFinal(snapshot: JsonObject): Item | undefined {
    const { type, id, callId } = readIdentity(snapshot);
    const item = this.findById(type, id);
    return item && mayBeSameCall(item, snapshot) ? item : this.findByCallId(type, callId);
  }

  private withSnapshot(item: Item, snapshot: JsonObject): Item {
    const callId = nonEmptyString(snapshot['call_id']);
    if (item.callId !== undefined || callId === undefined) return item;
    item.callId = callId;
    addToList(this.byCallId, callId, item);
    return item;
  }
}

/** vLLM sends new ids at the end (vllm-project/vllm#47916). As a second call, the tool would run twice. */
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
      const item = findItem(candidatesFor(snapshot), (candidate) => isSame(candidate, snapshot));
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

/** Servers keep the order of items: mostly the first one is the same. */
const MAX_CANDIDATES = 100;

function findItem(items: Iterable<Item> = [], isSame: (item: Item) => boolean): Item | undefined {
  let compared = 0;
  for (const item of items) {
    if (isSame(item)) return item;
    if (++compared === MAX_CANDIDATES) return undefined;
  }
  return undefined;
}

function readIdentity(snapshot: JsonObject, event: JsonObject = {}) {
  return {
    type: nonEmptyString(snapshot['type']) ?? '',
    id: nonEmptyString(snapshot['id']) ?? nonEmptyString(event['item_id']),
    index: finiteNumber(event['output_index']),
    callId: nonEmptyString(snapshot['call_id']),
  };
}
