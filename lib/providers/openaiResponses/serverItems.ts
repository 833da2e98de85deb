import { omitUndefined, isJsonObject, asArray, finiteNumber, nonEmptyString, omit } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Item } from './items.js';

/**
 * What there is to tell of an item that the client does not run: calls of server-side tools, and whatever else is no message, no reasoning and no
 * function call. Each is `{ type, id, ... }` and told once:
 *
 * - `status` while it goes on (`in_progress`, `searching`, `generating`, `interpreting` ...);
 * - `delta`, a piece of the code or the arguments;
 * - `partial_image_b64` with `partial_image_index`, an image on its way;
 * - the whole item when it is done, without the bytes of its image (they are a file), and of a list of tools the names.
 */
export interface ServerItems {
  announce(item: Item): void;
  progress(item: Item, step: string, event: JsonObject): void;
  snapshot(item: Item, wire: JsonObject): void;
  /** The answer is over: what was told to have ended, without an item that says so, is told now. */
  settle(item: Item): void;
}

/** The items whose events are told otherwise. */
const own: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

/** Whether an item is the business of the server. */
export const isServerItem = (type: string): boolean => !own.has(type);

/** The type of the item that an event of a server-side tool is about, and its last word: `response.mcp_call_arguments.delta` is of an `mcp_call`. */
export function serverEvent(type: string): { readonly item: string; readonly step: string } | undefined {
  const [, item, step] = /^response\.(\w+?_call|mcp_list_tools)(?:_\w+)?\.(\w+)$/.exec(type) ?? [];
  return item === undefined || step === undefined || !isServerItem(item) ? undefined : { item, step };
}

/** The item itself says these, with what came of it. */
const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** A teller that has told nothing. */
export function createServerItems(tell: (fact: JsonObject) => void): ServerItems {
  const told = new Map<Item, Set<string>>();
  const ended = new Map<Item, string>();

  const once = (item: Item, key: string, fact: JsonObject) => {
    const known = told.get(item) ?? new Set();
    if (known.has(key) || known.has('whole')) return;
    told.set(item, known.add(key));
    tell({ ...omitUndefined({ type: item.type, id: item.id }), ...fact });
  };
  const status = (item: Item, word: string) => {
    if (ends.has(word)) ended.set(item, word);
    else once(item, `status ${word}`, { status: word });
  };
  return {
    announce(item) {
      const word = nonEmptyString(item.opened?.['status']);
      if (word !== undefined) status(item, word);
    },
    progress(item, step, event) {
      if (step === 'done') return; // the item holds it
      if (step === 'delta') {
        const delta = nonEmptyString(event['delta']);
        if (delta !== undefined) tell({ ...omitUndefined({ type: item.type, id: item.id }), delta });
      } else if (step === 'partial_image') {
        const [image, index] = [
          nonEmptyString(event['partial_image_b64']),
          finiteNumber(event['partial_image_index']) ?? 0,
        ];
        if (image !== undefined) once(item, `image ${index}`, { partial_image_index: index, partial_image_b64: image });
      } else status(item, step);
    },
    snapshot: (item, wire) => once(item, 'whole', slim(wire)),
    settle(item) {
      const word = ended.get(item);
      if (word !== undefined) once(item, 'whole', { status: word });
    },
  };
}

function slim(item: JsonObject): JsonObject {
  const kept = omit(item, 'result', 'encrypted_content');
  return omitUndefined({ ...kept, tools: kept['tools'] && namesOf(kept['tools']) });
}

function namesOf(tools: JsonValue): JsonValue {
  return asArray(tools).flatMap((tool) => (isJsonObject(tool) ? (nonEmptyString(tool['name']) ?? []) : []));
}
