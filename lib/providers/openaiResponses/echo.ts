import { defined, without } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import type { Item } from './items.js';
import { saidIn } from './texts.js';

/** What to keep of a response: its id, and whether it can be continued by it. */
export interface Kept {
  readonly responseId: string | undefined;
  readonly stored: boolean | undefined;
}

/**
 * What goes into the message's metadata, for the next request:
 *
 * - `responseId`, and `stored: false` where the API said so;
 * - `output`: the items in their order. What the message's parts hold is not held twice: of a message only the `length` of its text, of a call
 *   neither name nor arguments, of an image not its bytes.
 *
 * @param items The items of the answer.
 * @param response What to keep of the response.
 * @param tangled Whether the message's text cannot be told apart by lengths: then there is no `output`.
 */
export function echoOf(items: readonly Item[], { responseId, stored }: Kept, tangled: boolean): JsonObject | undefined {
  const output = tangled ? [] : items.flatMap(skeleton);
  const data = defined({
    responseId,
    stored: stored === false ? false : undefined,
    output: output.length > 0 ? output : undefined,
  });
  return Object.keys(data).length > 0 ? data : undefined;
}

function skeleton(item: Item): readonly JsonObject[] {
  const wire = item.whole ?? item.opened ?? {};
  if (item.type === 'message') {
    const [text, refusal] = [saidIn(item.said, 'text'), saidIn(item.said, 'refusal')];
    const length = text.length + refusal.length;
    const refused = text === '' && refusal !== '' ? true : undefined;
    return length === 0 ? [] : [defined({ type: 'message', id: item.id, phase: wire['phase'] ?? undefined, length, refusal: refused })];
  }
  if (item.type === 'function_call') {
    const rest = without(wire, 'arguments', 'name', 'status');
    return [defined({ ...rest, type: 'function_call', id: item.id, call_id: item.callId })];
  }
  if (!item.whole || item.type === '') return []; // reasoning that was cut is refused
  if (item.type === 'reasoning') return [{ summary: [], ...withoutNulls(item.whole) }];
  return [item.type === 'image_generation_call' ? without(item.whole, 'result') : item.whole];
}

/** Servers fill what they do not have with nulls that the API does not take back (`content`, `status`); `summary` it wants even if it is empty. */
function withoutNulls(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
}
