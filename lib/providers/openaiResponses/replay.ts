import {
  asArray,
  finiteNumber,
  isJsonObject,
  nonEmptyString,
  objectOrEmpty,
  omit,
  omitUndefined,
} from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { Message, Part, ToolCallPart } from '../../core/message.js';
import type { Item } from './items.js';
import { provider } from './models.js';
import { joinTexts } from './texts.js';

/** Maps the id of a call to the id that the API knows or accepts. */
export type MapCallId = (id: string) => string;

/** What the API said of a response. */
interface StoredResponse {
  readonly responseId: string | undefined;
  /** Whether the API keeps the response. Undefined: it did not say. */
  readonly stored: boolean | undefined;
}

/**
 * The provider data of a message, for the next request:
 *
 * - `responseId`, and `stored: false` where the API said so;
 * - `output`: the items in their order, without what the message's parts hold: for a message only the `length` of its
 *   text, for a call neither name nor arguments, for an image not its bytes.
 *
 * @param items The items of the response.
 * @param response What the API said of the response.
 * @param isInterleaved Whether lengths cannot separate the texts of the messages: then there is no `output`.
 */
export function replayData(
  items: readonly Item[],
  { responseId, stored }: StoredResponse,
  isInterleaved: boolean,
): JsonObject | undefined {
  const output = isInterleaved ? [] : items.flatMap(storedItem);
  const data = omitUndefined({
    responseId,
    stored: stored === false ? false : undefined,
    output: output.length > 0 ? output : undefined,
  });
  return Object.keys(data).length > 0 ? data : undefined;
}

function storedItem(item: Item): readonly JsonObject[] {
  const { type, id, done } = item;
  switch (type) {
    case 'message':
      return storedMessage(item);
    case 'function_call': {
      const fields = omit(done ?? item.added ?? {}, 'arguments', 'name', 'status');
      return [omitUndefined({ ...fields, type, id, call_id: item.callId })];
    }
    case 'reasoning': // the API refuses a truncated one
      return done ? [{ summary: [], ...omitNulls(done) }] : [];
    case 'image_generation_call':
      return done ? [omit(done, 'result')] : [];
    case '':
      return [];
    default:
      return done ? [done] : [];
  }
}

function storedMessage({ id, texts, done, added }: Item): readonly JsonObject[] {
  const text = joinTexts(texts, 'text');
  const refusal = joinTexts(texts, 'refusal');
  const length = text.length + refusal.length;
  if (length === 0) return [];
  const phase = (done ?? added)?.['phase'] ?? undefined;
  return [omitUndefined({ type: 'message', id, phase, length, refusal: text === '' ? true : undefined })];
}

/** Servers send null for fields that they do not have (`content`, `status`), which the API refuses in a request. */
const omitNulls = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

/** The provider data of a model's message; undefined if another provider made it. */
export function replayDataOf(message: Message): JsonObject | undefined {
  const data = message.role === 'model' ? message.metadata?.[provider] : undefined;
  return isJsonObject(data) ? data : undefined;
}

/** The stored items of a model's message; none if another provider made it. */
export const storedOutput = (message: Message): readonly JsonObject[] =>
  asArray(replayDataOf(message)?.['output']).filter(isJsonObject);

/** Whether the text of a message still has the length of its items' texts, if it has items. */
export function isUnedited(message: Message): boolean {
  const output = storedOutput(message);
  return output.length === 0 || output.reduce((sum, item) => sum + textLength(item), 0) === messageText(message).length;
}

const textLength = (item: JsonObject): number => finiteNumber(item['length']) ?? 0;

/** Whether the API keeps the response, as far as it said. */
export const isStored = (message: Message): boolean => replayDataOf(message)?.['stored'] !== false;

/** Whether a part came from an item: by the item's id, or by the call's where the server sends no item ids. */
export function isPartOf(part: Part, item: JsonObject): boolean {
  const data = part.type === 'toolResult' ? undefined : part.providerData?.[provider];
  const { id } = objectOrEmpty(data);
  return id === undefined ? part.type === 'toolCall' && part.id === item['call_id'] : id === item['id'];
}

/**
 * Encodes a model's message: its stored items, if this provider made it and its text was not edited; otherwise one item
 * for each run of text and each call, in their order. Sources, and files of other providers, are not sent back.
 *
 * @param message The message.
 * @param mapCallId Maps the ids of calls.
 * @param stored Whether the API may look items up by their ids.
 */
export function encodeModelMessage(message: Message, mapCallId: MapCallId, stored: boolean): readonly JsonObject[] {
  const output = storedOutput(message);
  if (output.length === 0 || !isUnedited(message)) return encodeParts(message.parts, mapCallId);
  const items = replayItems(output, message, mapCallId);
  return stored && isStored(message) ? items : withoutReferences(items);
}

/** The stored items, completed from the message's parts. A call that never became complete is not a part, and is omitted. */
function replayItems(output: readonly JsonObject[], message: Message, mapCallId: MapCallId): readonly JsonObject[] {
  const text = messageText(message);
  const calls = new Set(toolCallsOf(message));
  let position = 0;
  const items = output.flatMap((item): readonly JsonObject[] => {
    switch (item['type']) {
      case 'message': {
        const start = position;
        position += textLength(item);
        return encodeText(text.slice(start, position), item);
      }
      case 'image_generation_call':
        return encodeImage(item, message.parts);
      case 'function_call': {
        const call = [...calls].find((one) => isPartOf(one, item));
        if (!call) return [];
        calls.delete(call);
        return [{ ...item, ...encodeCall(call, mapCallId) }];
      }
      default:
        return [item];
    }
  });
  return [...items, ...[...calls].map((call) => encodeCall(call, mapCallId))];
}

/**
 * Encodes a message without stored items (another provider's, or one that was edited), without ids: these would not
 * match it.
 */
function encodeParts(parts: readonly Part[], mapCallId: MapCallId): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let text = '';
  const endText = () => {
    items.push(...encodeText(text));
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    if (part.type !== 'toolCall') continue;
    endText();
    items.push(encodeCall(part, mapCallId));
  }
  endText();
  return items;
}

/** Encodes a text of the model. `phase` is sent back, as OpenAI requires for models that send it. */
function encodeText(text: string, { id, phase, refusal }: JsonObject = {}): readonly JsonObject[] {
  if (text === '') return [];
  const content =
    refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
  const status = id === undefined ? undefined : 'completed';
  return [omitUndefined({ type: 'message', role: 'assistant', id, status, phase, content: [content] })];
}

function encodeImage(item: JsonObject, parts: readonly Part[]): readonly JsonObject[] {
  const file = parts.find((part) => part.type === 'file' && isPartOf(part, item));
  return file?.type === 'file' && file.data !== undefined ? [{ ...item, result: file.data }] : [];
}

function encodeCall({ id, name, arguments: args }: ToolCallPart, mapCallId: MapCallId): JsonObject {
  return { type: 'function_call', call_id: mapCallId(id), name, arguments: JSON.stringify(args) };
}

/**
 * Omits what refers to items that the API does not keep: reasoning that is not encrypted (404, "Items are not persisted
 * when `store` is set to false"), and the id of the item after it, by which the API would miss the reasoning.
 */
function withoutReferences(items: readonly JsonObject[]): readonly JsonObject[] {
  let isReasoningOmitted = false;
  return items.flatMap((item) => {
    const refersToOmitted = isReasoningOmitted;
    isReasoningOmitted = false;
    switch (item['type']) {
      case 'reasoning':
        isReasoningOmitted = nonEmptyString(item['encrypted_content']) === undefined;
        return isReasoningOmitted ? [] : [item];
      case 'message':
      case 'function_call':
        return [refersToOmitted ? omit(item, 'id', 'status') : item];
      default:
        return [item];
    }
  });
}

/** The id of the container that an item ran in. */
export function containerOf(item: JsonObject): string | undefined {
  return item['type'] === 'code_interpreter_call' ? nonEmptyString(item['container_id']) : undefined;
}

/** The id of the container that the conversation's code ran in last: its files and variables are there. */
export function lastContainer(messages: readonly Message[]): string | undefined {
  for (const message of [...messages].reverse()) {
    const container = storedOutput(message)
      .map(containerOf)
      .findLast((id) => id !== undefined);
    if (container !== undefined) return container;
  }
  return undefined;
}
