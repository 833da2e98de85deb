import { finiteNumber, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { joinTexts, snapshotTexts } from './texts.js';
import type { ItemTexts } from './texts.js';

/** An output item of a response, while it streams. */
export interface Item {
  /** Its type on the wire (`message`, `reasoning`, `function_call`, `web_search_call` ...). */
  readonly type: string;
  /** Unique within the response: the index of a call's fragments. */
  readonly key: string;
  /** The first id that it had on the wire, if any. */
  readonly id: string | undefined;
  /** The item of `output_item.added`, mostly without content. */
  readonly added: JsonObject | undefined;
  /** The item of `output_item.done`, or of the final response. */
  done: JsonObject | undefined;
  /** The id of the call, once it is known. */
  callId: string | undefined;
  /** Whether an event found it by its id, so that another id means another item. */
  foundById: boolean;
  /** The texts that were emitted. */
  readonly texts: ItemTexts;
}

/** The output items of one response, in the order in which they began. */
export interface Items {
  readonly all: readonly Item[];
  /** The item that `output_item.added` announces. */
  added(snapshot: JsonObject, event: JsonObject): Item;
  /** The item that any event about a part of an item belongs to. */
  find(type: string, event: JsonObject): Item;
  /** The item that `output_item.done` completes. */
  done(snapshot: JsonObject, event: JsonObject): Item;
  /** Pairs the output of the final response with its items. */
  match(output: readonly JsonObject[]): readonly (readonly [Item, JsonObject])[];
}

/**
 * Finds the item that an event belongs to.
 *
 * Documented are `item_id` and `output_index`. Servers send the same index for all items, an index that changes, ids
 * that differ from event to event, or none. So a known id decides; with an unknown one the call's id, the index, the type
 * and the text so far do. A call keeps its first id: servers give later snapshots new ones.
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
  /** The open item at an index; without an index, the last open item of the type. */
  const findOpen = (type: string, index: number | undefined): Item | undefined => {
    const item = index === undefined ? all.findLast((one) => one.type === type && !one.done) : byIndex.get(index);
    return item?.type === type && !item.done ? item : undefined;
  };

  return {
    all,
    added(snapshot, event) {
      const { type, id, index } = identify(snapshot, event);
      const item = findById(type, id);
      return item && !item.done && mayBeSameCall(item, snapshot) ? item : open(type, id, index, snapshot);
    },
    find(type, event) {
      const id = nonEmptyString(event['item_id']);
      const index = finiteNumber(event['output_index']);
      // Some servers send the call's id in place of the item's.
      const item = findById(type, id) ?? all.find((one) => isOpenCall(one, type, id));
      if (item) {
        item.foundById = true;
        return item;
      }
      const candidate = findOpen(type, index);
      return candidate && (id === undefined || !candidate.foundById) ? addId(candidate, id) : open(type, id, index);
    },
    done(snapshot, event) {
      const { type, id, index, callId } = identify(snapshot, event);
      const item = findById(type, id);
      if (item && mayBeSameCall(item, snapshot)) return item;
      const candidate = findByCallId(type, callId) ?? findOpen(type, index);
      if (candidate && continuesTexts(candidate, snapshot)) return addId(candidate, id);
      if (item && completesCall(item, snapshot)) return addId(item, id);
      // A snapshot with an unknown id and without an index is a new item.
      const mayBeCandidate = index !== undefined || id === undefined;
      if (mayBeCandidate && candidate && completesCall(candidate, snapshot)) return addId(candidate, id);
      return open(type, id, index);
    },
    match(output) {
      const items = output.map((snapshot): Item | undefined => {
        const { type, id, callId } = identify(snapshot);
        const item = findById(type, id);
        return item && mayBeSameCall(item, snapshot) ? item : findByCallId(type, callId);
      });
      const unmatched = all.filter((item) => !items.includes(item));
      for (const isSame of [repeatsCall, continuesTexts, completesCall]) {
        output.forEach((snapshot, position) => {
          const at = items[position] ? -1 : unmatched.findIndex((item) => isSame(item, snapshot));
          if (at >= 0) items[position] = unmatched.splice(at, 1)[0];
        });
      }
      return output.map((snapshot, position) => {
        const { type, id } = identify(snapshot);
        return [items[position] ?? open(type, id, undefined), snapshot] as const;
      });
    },
  };
}

/** What identifies the item of a snapshot. */
function identify(snapshot: JsonObject, event: JsonObject = {}) {
  return {
    type: nonEmptyString(snapshot['type']) ?? '',
    id: nonEmptyString(snapshot['id']) ?? nonEmptyString(event['item_id']),
    index: finiteNumber(event['output_index']),
    callId: nonEmptyString(snapshot['call_id']),
  };
}

const isOpenCall = (item: Item, type: string, callId: string | undefined): boolean =>
  callId !== undefined && item.callId === callId && item.type === type && !item.done;

/** Whether the call ids do not contradict each other. */
function mayBeSameCall(item: Item, snapshot: JsonObject): boolean {
  const callId = nonEmptyString(snapshot['call_id']);
  return callId === undefined || item.callId === undefined || callId === item.callId;
}

/** Whether a snapshot has the item's type and call, and its texts begin with those that were emitted. */
function continuesTexts(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !mayBeSameCall(item, snapshot)) return false;
  const texts = snapshotTexts(snapshot);
  return [...item.texts.keys()].every((kind) =>
    (texts.get(kind) ?? []).join('').startsWith(joinTexts(item.texts, kind)),
  );
}

/** Whether a snapshot completes an open call, whatever its ids: its name, and arguments that continue those so far. */
function completesCall(item: Item, snapshot: JsonObject): boolean {
  if (item.done || !haveSameFunction(item, snapshot)) return false;
  const [before, after] = [argumentsSoFar(item), argumentsIn(snapshot)];
  return isPlaceholder(before) || after.startsWith(before) || compactJson(before) === compactJson(after);
}

/**
 * Whether a snapshot repeats a call, whatever its ids: the same name and the same arguments. vLLM makes up new ids for
 * the final response (vllm-project/vllm#47916), and a call that is mistaken for another runs twice.
 */
function repeatsCall(item: Item, snapshot: JsonObject): boolean {
  if (!haveSameFunction(item, snapshot)) return false;
  return compactJson(argumentsSoFar(item)) === compactJson(argumentsIn(snapshot));
}

/** Whether both are function calls, and their names do not contradict each other. */
function haveSameFunction(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== 'function_call' || snapshot['type'] !== 'function_call') return false;
  const name = nonEmptyString((item.done ?? item.added)?.['name']);
  const snapshotName = nonEmptyString(snapshot['name']);
  return name === undefined || snapshotName === undefined || name === snapshotName;
}

const argumentsIn = (snapshot: JsonObject): string => (snapshotTexts(snapshot).get('arguments') ?? []).join('');

function argumentsSoFar({ done, texts, added }: Item): string {
  if (done) return argumentsIn(done);
  return joinTexts(texts, 'arguments') || argumentsIn(added ?? {});
}

/** Whether arguments are empty: blank, `{}` or `null`. */
const isPlaceholder = (text: string): boolean => /^\s*(\{\s*\}|null)?\s*$/.test(text);

/** JSON without the white space between its tokens, for comparison; a text that is not JSON, unchanged. */
function compactJson(text: string): string {
  if (isPlaceholder(text)) return '{}';
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}
