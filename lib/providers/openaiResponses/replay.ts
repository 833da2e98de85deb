import {
  omitUndefined,
  isJsonObject,
  asArray,
  finiteNumber,
  objectOrEmpty,
  nonEmptyString,
  omit,
} from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { Message, Part, ToolCallPart } from '../../core/message.js';
import type { Item } from './items.js';
import { provider } from './models.js';
import { saidIn } from './texts.js';

type CallId = (id: string) => string;

/**
 * The items of a model's message: as they came, where this provider made it and its text is still the same; otherwise one item for each run of text
 * and each call, in their order. Sources, and files of other providers, have no place among them.
 *
 * @param message The message.
 * @param callId Gives a call's id as the API takes it.
 * @param stored Whether the API may look items up by their ids.
 */
export function encodeModel(message: Message, callId: CallId, stored: boolean): readonly JsonObject[] {
  const output = outputOf(message);
  if (output.length === 0 || !isAsItCame(message)) return encodeParts(message.parts, callId);
  const items = replay(output, message, callId);
  return stored && isStored(message) ? items : selfContained(items);
}

/** What a message holds for this provider, where this provider made it. */
export function ownOf(message: Message): JsonObject | undefined {
  const own = message.role === 'model' ? message.metadata?.[provider] : undefined;
  return isJsonObject(own) ? own : undefined;
}

/** The items that a message came as; none where another provider made it. */
export const outputOf = (message: Message): readonly JsonObject[] =>
  asArray(ownOf(message)?.['output']).filter(isJsonObject);

/** Whether the text of a message is still that of its items, if it has any. */
export function isAsItCame(message: Message): boolean {
  const output = outputOf(message);
  return output.length === 0 || output.reduce((sum, item) => sum + lengthOf(item), 0) === messageText(message).length;
}

/** Whether the API has kept the response, as far as it said. */
export const isStored = (message: Message): boolean => ownOf(message)?.['stored'] !== false;

/** The wire's items with what the message's parts hold of them. A call that never became whole is not among the parts, and is left out. */
function replay(output: readonly JsonObject[], message: Message, callId: CallId): readonly JsonObject[] {
  const text = messageText(message);
  const calls = new Set(toolCallsOf(message));
  let at = 0;
  const items = output.flatMap((item): readonly JsonObject[] => {
    if (item['type'] === 'message') return encodeText(item, text.slice(at, (at += lengthOf(item))));
    if (item['type'] === 'image_generation_call') return encodeImage(item, message.parts);
    if (item['type'] !== 'function_call') return [item];
    const call = [...calls].find((one) => isOf(one, item));
    if (call) calls.delete(call);
    return call ? [{ ...item, ...encodeCall(call, callId) }] : [];
  });
  return [...items, ...[...calls].map((call) => encodeCall(call, callId))];
}

const lengthOf = (item: JsonObject): number => finiteNumber(item['length']) ?? 0;

/** The item that a part came from: by its id, or by the call's where the server gives items none. */
export function isOf(part: Part, item: JsonObject): boolean {
  const own = part.type === 'toolResult' ? undefined : part.providerData?.[provider];
  const { id } = objectOrEmpty(own);
  return id === undefined ? part.type === 'toolCall' && part.id === item['call_id'] : id === item['id'];
}

/** The model's text. `phase` is given back, as OpenAI demands of models that send it. */
function encodeText({ id, phase, refusal }: JsonObject, text: string): readonly JsonObject[] {
  if (text === '') return [];
  const content =
    refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
  return [
    omitUndefined({
      type: 'message',
      role: 'assistant',
      id,
      status: id === undefined ? undefined : 'completed',
      phase,
      content: [content],
    }),
  ];
}

function encodeImage(item: JsonObject, parts: readonly Part[]): readonly JsonObject[] {
  const file = parts.find((part) => part.type === 'file' && isOf(part, item));
  return file?.type === 'file' && file.data !== undefined ? [{ ...item, result: file.data }] : [];
}

function encodeCall(call: ToolCallPart, callId: CallId): JsonObject {
  return {
    type: 'function_call',
    call_id: callId(call.id),
    name: call.name,
    arguments: JSON.stringify(call.arguments),
  };
}

/** A message without items: another provider's, or one that was edited. Without ids, which would not fit it. */
function encodeParts(parts: readonly Part[], callId: CallId): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let text = '';
  const close = () => {
    items.push(...encodeText({}, text));
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    if (part.type !== 'toolCall') continue;
    close();
    items.push(encodeCall(part, callId));
  }
  close();
  return items;
}

/**
 * Without a store, reasoning goes back encrypted or not at all (404, "Items are not persisted when `store` is set to false"), and what followed a
 * reasoning that is left out goes without its id, by which the API would miss it.
 */
function selfContained(items: readonly JsonObject[]): readonly JsonObject[] {
  let missing = false;
  return items.flatMap((item) => {
    if (item['type'] === 'reasoning') {
      missing = nonEmptyString(item['encrypted_content']) === undefined;
      return missing ? [] : [item];
    }
    const bare = missing && (item['type'] === 'message' || item['type'] === 'function_call');
    missing = false;
    return [bare ? omit(item, 'id', 'status') : item];
  });
}

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
  const data = omitUndefined({
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
    return length === 0
      ? []
      : [omitUndefined({ type: 'message', id: item.id, phase: wire['phase'] ?? undefined, length, refusal: refused })];
  }
  if (item.type === 'function_call') {
    const rest = omit(wire, 'arguments', 'name', 'status');
    return [omitUndefined({ ...rest, type: 'function_call', id: item.id, call_id: item.callId })];
  }
  if (!item.whole || item.type === '') return []; // reasoning that was cut is refused
  if (item.type === 'reasoning') return [{ summary: [], ...withoutNulls(item.whole) }];
  return [item.type === 'image_generation_call' ? omit(item.whole, 'result') : item.whole];
}

/** Servers fill what they do not have with nulls that the API does not take back (`content`, `status`); `summary` it wants even if it is empty. */
function withoutNulls(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
}

/** The container that an item ran in. */
export function containerOf(item: JsonObject): string | undefined {
  return item['type'] === 'code_interpreter_call' ? nonEmptyString(item['container_id']) : undefined;
}

/** The container that the conversation's code ran in last: its files and variables are there. */
export function lastContainer(messages: readonly Message[]): string | undefined {
  for (const message of [...messages].reverse()) {
    const container = outputOf(message)
      .map(containerOf)
      .findLast((id) => id !== undefined);
    if (container !== undefined) return container;
  }
  return undefined;
}

/** A tool that has OpenAI choose a container, with the one that is there. Any other is left as it is. */
export function inContainer(tool: JsonObject, container: string | undefined): JsonObject {
  return container !== undefined && takesAny(tool) ? { ...tool, container } : tool;
}

/** Whether a tool has OpenAI choose its container (`{ type: 'auto' }`). */
export function takesAny({ type, container }: Readonly<Record<string, JsonValue | undefined>>): boolean {
  return type === 'code_interpreter' && isJsonObject(container) && container['type'] === 'auto';
}
