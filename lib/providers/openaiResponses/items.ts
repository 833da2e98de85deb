import { finiteNumber, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { saidIn, textsOf } from './texts.js';
import type { Said } from './texts.js';

/** An item of an answer, while it streams. */
export interface Item {
  /** Its type on the wire (`message`, `reasoning`, `function_call`, `web_search_call` ...). */
  readonly type: string;
  /** Unlike that of any other item of the answer: the index of a call's fragments. */
  readonly key: string;
  /** The wire's id, where it gives one. */
  readonly id: string | undefined;
  /** As it was announced: mostly without content. */
  readonly opened: JsonObject | undefined;
  /** As it was when it was done. */
  whole: JsonObject | undefined;
  /** The id of the call, once it is known. */
  callId: string | undefined;
  /** Whether an event has come back to it under its id, so that another id means another item. */
  known: boolean;
  /** What was emitted of its texts. */
  readonly said: Said;
}

/** The items of one answer, in the order in which they began. */
export interface Items {
  readonly all: readonly Item[];
  /** `output_item.added`: the item that it announces. */
  announced(wire: JsonObject, event: JsonObject): Item;
  /** Any event about a part of an item: the item that it is about. */
  about(type: string, event: JsonObject): Item;
  /** `output_item.done`: the item that it ends. */
  ended(wire: JsonObject, event: JsonObject): Item;
  /** The output of a whole response: each of its items with ours. */
  settled(output: readonly JsonObject[]): readonly (readonly [Item, JsonObject])[];
}

/**
 * Finds the item that an event is about. Documented is `item_id`, beside `output_index`; servers send the same index for all items, an index that
 * changes, ids that differ from event to event, or none. So the id decides where it is known; an unknown one is told by what else fits: the call's
 * id, the index, the type, the text so far. A call keeps the first id that it came with: servers give later snapshots new ones.
 */
export function createItems(): Items {
  const all: Item[] = [];
  const byId = new Map<string, Item>();
  const byIndex = new Map<number, Item>();

  const open = (type: string, id: string | undefined, index: number | undefined, opened?: JsonObject): Item => {
    const key = id !== undefined && !byId.has(id) ? id : `${id ?? 'item'}#${all.length}`;
    const item: Item = {
      type,
      key,
      id,
      opened,
      whole: undefined,
      callId: nonEmptyString(opened?.['call_id']),
      known: false,
      said: new Map(),
    };
    all.push(item);
    if (index !== undefined) byIndex.set(index, item);
    return learn(item, id);
  };
  const learn = (item: Item, id: string | undefined): Item => {
    if (id !== undefined) byId.set(id, item);
    return item;
  };
  const withId = (type: string, id: string | undefined): Item | undefined => {
    const item = id === undefined ? undefined : byId.get(id);
    return item?.type === type ? item : undefined;
  };
  const withCall = (wire: JsonObject): Item | undefined => {
    const callId = nonEmptyString(wire['call_id']);
    return callId === undefined ? undefined : all.find((item) => item.callId === callId && item.type === wire['type']);
  };
  const atIndex = (type: string, index: number | undefined): Item | undefined => {
    const item = index === undefined ? all.filter((one) => one.type === type && !one.whole).at(-1) : byIndex.get(index);
    return item?.type === type && !item.whole ? item : undefined;
  };

  return {
    all,
    announced(wire, event) {
      const [type, id, index] = fieldsOf(wire, event);
      const item = withId(type, id);
      return item && !item.whole && sameCall(item, wire) ? item : open(type, id, index, wire);
    },
    about(type, event) {
      const id = nonEmptyString(event['item_id']);
      const index = finiteNumber(event['output_index']);
      const item =
        withId(type, id) ?? all.find((one) => id !== undefined && one.callId === id && one.type === type && !one.whole);
      if (item) {
        item.known = true;
        return item;
      }
      const there = atIndex(type, index);
      return there && (id === undefined || !there.known) ? learn(there, id) : open(type, id, index);
    },
    ended(wire, event) {
      const [type, id, index] = fieldsOf(wire, event);
      const item = withId(type, id);
      if (item && sameCall(item, wire)) return item;
      const there = withCall(wire) ?? atIndex(type, index);
      if (there && fits(there, wire)) return learn(there, id);
      const renamed = [item, index === undefined && id !== undefined ? undefined : there].find(
        (one) => one && endsCall(one, wire),
      );
      return renamed ? learn(renamed, id) : open(type, id, index);
    },
    settled(output) {
      const found = output.map((wire) => {
        const [type, id] = fieldsOf(wire, {});
        const item = withId(type, id);
        return item && sameCall(item, wire) ? item : withCall(wire);
      });
      const free = all.filter((item) => !found.includes(item));
      for (const like of [repeatsCall, fits, endsCall]) {
        output.forEach((wire, index) => {
          const at = found[index] ? -1 : free.findIndex((item) => like(item, wire));
          if (at >= 0) found[index] = free.splice(at, 1)[0];
        });
      }
      return output.map((wire, index) => {
        const [type, id] = fieldsOf(wire, {});
        return [found[index] ?? open(type, id, undefined), wire] as const;
      });
    },
  };
}

function fieldsOf(
  wire: JsonObject,
  event: JsonObject,
): readonly [type: string, id: string | undefined, index: number | undefined] {
  return [
    nonEmptyString(wire['type']) ?? '',
    nonEmptyString(wire['id']) ?? nonEmptyString(event['item_id']),
    finiteNumber(event['output_index']),
  ];
}

/** Whether the call ids do not contradict each other. */
export function sameCall(item: Item, wire: JsonObject): boolean {
  const callId = nonEmptyString(wire['call_id']);
  return callId === undefined || item.callId === undefined || callId === item.callId;
}

/** Whether a snapshot may be one of an item that goes by another id: the same type and call, and all that was said of it. */
export function fits(item: Item, wire: JsonObject): boolean {
  const texts = textsOf(wire);
  return (
    item.type === wire['type'] &&
    sameCall(item, wire) &&
    [...item.said.keys()].every((kind) => (texts.get(kind) ?? []).join('').startsWith(saidIn(item.said, kind)))
  );
}

/** Whether a snapshot ends a call that is still open, whatever its ids: the same name, and arguments that go on from those that came. */
export function endsCall(item: Item, wire: JsonObject): boolean {
  if (!areCalls(item, wire) || item.whole || !sameName(item, wire)) return false;
  const [before, after] = [argumentsSoFar(item), argumentsIn(wire)];
  return isPlaceholder(before) || after.startsWith(before) || unspaced(before) === unspaced(after);
}

/**
 * Whether a snapshot shows a call once more, whatever its ids: the same name and the same arguments. vLLM makes up new ids for the whole response
 * (vllm-project/vllm#47916), and a call that is taken for another runs twice.
 */
export function repeatsCall(item: Item, wire: JsonObject): boolean {
  return areCalls(item, wire) && sameName(item, wire) && unspaced(argumentsSoFar(item)) === unspaced(argumentsIn(wire));
}

const areCalls = (item: Item, wire: JsonObject): boolean =>
  item.type === 'function_call' && wire['type'] === 'function_call';
function sameName(item: Item, wire: JsonObject): boolean {
  const [ours, theirs] = [nonEmptyString((item.whole ?? item.opened)?.['name']), nonEmptyString(wire['name'])];
  return ours === undefined || theirs === undefined || ours === theirs;
}

const argumentsIn = (wire: JsonObject): string => (textsOf(wire).get('arguments') ?? []).join('');
function argumentsSoFar({ whole, said, opened }: Item): string {
  if (whole) return argumentsIn(whole);
  return saidIn(said, 'arguments') || argumentsIn(opened ?? {});
}

const isPlaceholder = (text: string): boolean => /^\s*(\{\s*\}|null)?\s*$/.test(text);

/** Arguments as they are compared: JSON without the white space between its tokens; what is no JSON, as it is. */
function unspaced(text: string): string {
  if (isPlaceholder(text)) return '{}';
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value); // truncated or not JSON: equal only to the same text
}
