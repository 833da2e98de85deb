import { finiteNumber, nonEmptyString, omit, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { Message, Part, ToolCallPart } from '../../core/message.js';
import { encodeCallItem, hasCallContent, isClientCallType, omitCallContent } from './clientCalls.js';
import type { Item } from './item.js';
import { isStored, pairCallsWithItems, readItemId, readStoredItems } from './storedItems.js';

/** Maps a call id of the history to the API's id for that call, or to an id that the API accepts. */
export type MapCallId = (id: string) => string;

/** The API's information about a response. */
interface StoredResponse {
  readonly responseId: string | undefined;
  /** Whether the API stores the response; undefined if the API did not report it. */
  readonly stored: boolean | undefined;
}

/**
 * Creates the provider data of a message, for the next request:
 *
 * - `responseId`, and `stored: false` if the API reported it. A response that ends with reasoning has no `responseId`:
 *   the API refuses a request that continues it (openai/openai-agents-python#1611);
 * - `output`: the items in their order, without the content that the message's parts contain: a message item has only
 *   the `length` of its text, a call that the client answers has neither name nor arguments, and an image does not have
 *   its bytes.
 *
 * @param items The items of the response.
 * @param response The API's information about the response.
 * @param isInterleaved Whether the texts of messages were interleaved. Lengths then cannot separate the texts, and
 * `output` is omitted.
 * @returns The provider data; undefined if it would be empty.
 */
export function createReplayData(
  items: readonly Item[],
  { responseId, stored }: StoredResponse,
  isInterleaved: boolean,
): JsonObject | undefined {
  const output = isInterleaved ? [] : items.flatMap(toStoredItem);
  const isContinuable = items.at(-1)?.type !== 'reasoning';
  const data = omitUndefined({
    responseId: isContinuable ? responseId : undefined,
    stored: stored === false ? false : undefined,
    output: output.length > 0 ? output : undefined,
  });
  return Object.keys(data).length > 0 ? data : undefined;
}

function toStoredItem(item: Item): readonly JsonObject[] {
  const { type, done } = item;
  switch (type) {
    case 'message':
      return toStoredMessage(item);
    case 'function_call':
      return [toStoredCall(item)];
    case 'reasoning': // the API rejects truncated reasoning
      return done ? [{ summary: [], ...omitNulls(done) }] : [];
    case 'image_generation_call':
      return done ? [omit(done, 'result')] : [];
    case '':
      return [];
    default:
      if (isClientCallType(type) && item.isEmitted) return [toStoredCall(item)];
      return done ? [done] : [];
  }
}

/** The call without the fields that its part of the message contains. */
const toStoredCall = ({ type, id, callId, done, added }: Item): JsonObject =>
  omitUndefined({ ...omitCallContent(done ?? added ?? {}), type, id, call_id: callId });

function toStoredMessage({ id, texts, done, added }: Item): readonly JsonObject[] {
  const textLength = texts.length('text');
  const length = textLength + texts.length('refusal');
  if (length === 0) return [];
  const phase = (done ?? added)?.['phase'] ?? undefined;
  return [omitUndefined({ type: 'message', id, phase, length, refusal: textLength === 0 ? true : undefined })];
}

/** Servers send null for missing fields (`content`, `status`), but the API rejects null in a request. */
const omitNulls = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

/**
 * Whether the text of a message still has the same length as its stored items' texts. True if it has no stored items.
 */
export function isUnedited(message: Message): boolean {
  const output = readStoredItems(message);
  return (
    output.length === 0 || output.reduce((sum, item) => sum + readTextLength(item), 0) === messageText(message).length
  );
}

const readTextLength = (item: JsonObject): number => finiteNumber(item['length']) ?? 0;

/**
 * Encodes a model message. If this provider created it and its text has not been edited, its stored items are used.
 * Otherwise it becomes one item for each run of text and for each call, in their order. Sources, and files of other
 * providers, are not sent back.
 *
 * @param message The message.
 * @param mapCallId Maps the ids of calls.
 * @param stored Whether the API can look up stored items by their ids.
 */
export function encodeModelMessage(message: Message, mapCallId: MapCallId, stored: boolean): readonly JsonObject[] {
  const output = readStoredItems(message);
  if (output.length === 0 || !isUnedited(message)) return encodeParts(message.parts, mapCallId);
  const items = completeStoredItems(output, message, mapCallId);
  return stored && isStored(message) ? items : omitReferences(items);
}

/**
 * Completes the stored items with the content of the message's parts. A call that was not completed has no part, and is
 * omitted.
 */
function completeStoredItems(
  output: readonly JsonObject[],
  message: Message,
  mapCallId: MapCallId,
): readonly JsonObject[] {
  const text = messageText(message);
  const calls = new Map([...pairCallsWithItems(message)].map(([call, item]) => [item, call]));
  const replayed = new Set(calls.values());
  let position = 0;
  const items = output.flatMap((item): readonly JsonObject[] => {
    switch (item['type']) {
      case 'message': {
        const start = position;
        position += readTextLength(item);
        return encodeText(text.slice(start, position), item);
      }
      case 'image_generation_call':
        return encodeImage(item, message.parts);
      default: {
        const call = calls.get(item);
        if (call) return [{ ...item, ...encodeCall(call, mapCallId) }];
        return isClientCallType(item['type']) && !hasCallContent(item) ? [] : [item];
      }
    }
  });
  const others = toolCallsOf(message).filter((call) => !replayed.has(call));
  return [...items, ...others.map((call) => encodeCall(call, mapCallId))];
}

/**
 * Encodes the parts of a message without its stored items: a message of another provider, or a message that has been
 * edited. Ids are omitted, because they would identify other content.
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

/** Encodes a text of the model. `phase` is sent back because OpenAI requires it for models that send it. */
function encodeText(text: string, { id, phase, refusal }: JsonObject = {}): readonly JsonObject[] {
  if (text === '') return [];
  const content =
    refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
  const status = id === undefined ? undefined : 'completed';
  return [omitUndefined({ type: 'message', role: 'assistant', id, status, phase, content: [content] })];
}

function encodeImage(item: JsonObject, parts: readonly Part[]): readonly JsonObject[] {
  const { id } = item;
  const file = parts.find((part) => part.type === 'file' && id !== undefined && readItemId(part) === id);
  return file?.type === 'file' && file.data !== undefined ? [{ ...item, result: file.data }] : [];
}

const encodeCall = (call: ToolCallPart, mapCallId: MapCallId): JsonObject => encodeCallItem(call, mapCallId(call.id));

/**
 * Omits references to items that the API does not store: reasoning that is not encrypted (404, "Items are not persisted
 * when `store` is set to false"), and the id of the item after it. With that id, the API would report that the
 * reasoning is missing.
 */
function omitReferences(items: readonly JsonObject[]): readonly JsonObject[] {
  let isReasoningOmitted = false;
  return items.flatMap((item) => {
    const followsOmitted = isReasoningOmitted;
    isReasoningOmitted = false;
    if (item['type'] !== 'reasoning') return [followsOmitted && isReplayed(item) ? omit(item, 'id', 'status') : item];
    isReasoningOmitted = nonEmptyString(item['encrypted_content']) === undefined;
    return isReasoningOmitted ? [] : [item];
  });
}

/** Whether an item is accepted without its id: a message, or a call that the client answers. */
const isReplayed = ({ type }: JsonObject): boolean => type === 'message' || isClientCallType(type);

/** Returns the id of the container that an item ran in; undefined if it did not run in a container. */
export function readContainerId(item: JsonObject): string | undefined {
  return item['type'] === 'code_interpreter_call' ? nonEmptyString(item['container_id']) : undefined;
}

/**
 * Returns the id of the container that the conversation's code last ran in, which contains its files and variables;
 * undefined if no code has run.
 */
export function findLastContainer(messages: readonly Message[]): string | undefined {
  for (const message of [...messages].reverse()) {
    const container = readStoredItems(message)
      .map(readContainerId)
      .findLast((id) => id !== undefined);
    if (container !== undefined) return container;
  }
  return undefined;
}
