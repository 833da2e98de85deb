import { textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import type { Item } from './items.js';
import { saidIn, textsOf } from './texts.js';

/** Whether the call ids do not contradict each other. */
export function sameCall(item: Item, wire: JsonObject): boolean {
  const callId = textOf(wire['call_id']);
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

const areCalls = (item: Item, wire: JsonObject): boolean => item.type === 'function_call' && wire['type'] === 'function_call';

function sameName(item: Item, wire: JsonObject): boolean {
  const [ours, theirs] = [textOf((item.whole ?? item.opened)?.['name']), textOf(wire['name'])];
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
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text; // cut, or never JSON: then only the same text is the same
  }
}
