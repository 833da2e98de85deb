import { finiteNumber, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { joinTexts, snapshotTexts } from './texts.js';
import type { ItemTexts } from './texts.js';

/** An output item of a response, while it streams. */
export interface Item {
  /** The item's type in the API (`message`, `reasoning`, `function_call`, `web_search_call` ...). */
  readonly type: string;
  /** A key that is unique within the response. It is the `index` of a call's fragments. */
  readonly key: string;
  /** The first id that the server sent for the item, if any. */
  readonly id: string | undefined;
  /** The item as `output_item.added` contained it, usually without content. */
  readonly added: JsonObject | undefined;
  /** The complete item, from `output_item.done` or from the final response; undefined until it arrives. */
  done: JsonObject | undefined;
  /** The id of the call; undefined until it arrives. */
  callId: string | undefined;
  /** Whether an event has found the item by its id. An event with a different id then belongs to a different item. */
  foundById: boolean;
  /** The texts that have been emitted. */
  readonly texts: ItemTexts;
}

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

  const open = (type: string, id: string | undefined, index: number | undefined, added?: JsonObject): Item => {
    const key = id !== undefined && !byId.has(id) ? id : `${id ?? 'item'}#${all.length}`;
    const callId = nonEmptyString(added?.['call_id']);
    const item: Item = { type, key, id, added, done: undefined, callId, foundById: false, texts: new Map() };
    all.push(item);
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
    callId === undefined ? undefined : all.find((item) => item.callId === callId && item.type === type);
  /** Returns the open item at an index; if the index is undefined, the last open item of the type. */
  const findOpen = (type: string, index: number | undefined): Item | undefined => {
    const found = index === undefined ? all.findLast((item) => item.type === type && !item.done) : byIndex.get(index);
    return found?.type === type && !found.done ? found : undefined;
  };

  return {
    all,
    added(snapshot, event) {
      const { type, id, index } = readIdentity(snapshot, event);
      const item = findById(type, id);
      return item && !item.done && mayBeSameCall(item, snapshot) ? item : open(type, id, index, snapshot);
    },
    find(type, event) {
      const id = nonEmptyString(event['item_id']);
      const index = finiteNumber(event['output_index']);
      // Some servers send the call's id instead of the item's id.
      const known = findById(type, id) ?? all.find((item) => isOpenCall(item, type, id));
      if (known) {
        known.foundById = true;
        return known;
      }
      const candidate = findOpen(type, index);
      return candidate && (id === undefined || !candidate.foundById) ? addId(candidate, id) : open(type, id, index);
    },
    done(snapshot, event) {
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
    },
    match(output) {
      const items = output.map((snapshot): Item | undefined => {
        const { type, id, callId } = readIdentity(snapshot);
        const item = findById(type, id);
        return item && mayBeSameCall(item, snapshot) ? item : findByCallId(type, callId);
      });
      const unmatched = all.filter((item) => !items.includes(item));
      for (const isSame of [repeatsCall, continuesTexts, completesCall]) {
        output.forEach((snapshot, position) => {
          const matchIndex = items[position] ? -1 : unmatched.findIndex((item) => isSame(item, snapshot));
          if (matchIndex >= 0) items[position] = unmatched.splice(matchIndex, 1)[0];
        });
      }
      return output.map((snapshot, position) => {
        const { type, id } = readIdentity(snapshot);
        return [items[position] ?? open(type, id, undefined), snapshot] as const;
      });
    },
  };
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

const isOpenCall = (item: Item, type: string, callId: string | undefined): boolean =>
  callId !== undefined && item.callId === callId && item.type === type && !item.done;

/** Whether an item and a snapshot can belong to the same call: their call ids are equal, or one is missing. */
function mayBeSameCall(item: Item, snapshot: JsonObject): boolean {
  const callId = nonEmptyString(snapshot['call_id']);
  return callId === undefined || item.callId === undefined || callId === item.callId;
}

/** Whether a snapshot has the item's type and call id, and its texts begin with the texts that have been emitted. */
function continuesTexts(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !mayBeSameCall(item, snapshot)) return false;
  const texts = snapshotTexts(snapshot);
  return [...item.texts.keys()].every((kind) =>
    (texts.get(kind) ?? []).join('').startsWith(joinTexts(item.texts, kind)),
  );
}

/**
 * Whether a snapshot completes an open call: it has the same name, and its arguments continue the call's arguments so
 * far. Ids are not compared.
 */
function completesCall(item: Item, snapshot: JsonObject): boolean {
  if (item.done || !haveSameFunction(item, snapshot)) return false;
  const received = readReceivedArguments(item);
  const complete = readArguments(snapshot);
  return isPlaceholder(received) || complete.startsWith(received) || compactJson(received) === compactJson(complete);
}

/**
 * Whether a snapshot repeats a call: it has the same name and the same arguments. Ids are not compared: vLLM generates
 * new ids for the final response (vllm-project/vllm#47916). If the repetition were taken for a second call, the tool
 * would run twice.
 */
function repeatsCall(item: Item, snapshot: JsonObject): boolean {
  if (!haveSameFunction(item, snapshot)) return false;
  return compactJson(readReceivedArguments(item)) === compactJson(readArguments(snapshot));
}

/** Whether an item and a snapshot are function calls with the same name. A missing name is equal to any name. */
function haveSameFunction(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== 'function_call' || snapshot['type'] !== 'function_call') return false;
  const name = nonEmptyString((item.done ?? item.added)?.['name']);
  const snapshotName = nonEmptyString(snapshot['name']);
  return name === undefined || snapshotName === undefined || name === snapshotName;
}

const readArguments = (snapshot: JsonObject): string => (snapshotTexts(snapshot).get('arguments') ?? []).join('');

function readReceivedArguments({ done, texts, added }: Item): string {
  if (done) return readArguments(done);
  return joinTexts(texts, 'arguments') || readArguments(added ?? {});
}

/** Whether the text of the arguments is a placeholder: blank, `{}` or `null`. */
const isPlaceholder = (text: string): boolean => /^\s*(\{\s*\}|null)?\s*$/.test(text);

/** Removes the whitespace between the tokens of a JSON text, for comparison. Returns any other text unchanged. */
function compactJson(text: string): string {
  if (isPlaceholder(text)) return '{}';
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}
