import { asArray, nonEmptyString, omit, omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { Message, Part } from '../../core/message.js';
import { storedData, type ProviderPart } from '../../core/providerPart.js';
import { encodeCallItem, isClientCallType } from './clientCalls.js';
import { provider } from './models.js';

export type MapCallId = (id: string) => string;

export const isResponse = (part: Part): part is ProviderPart =>
  part.type === 'provider' && part.provider === provider && part.data['type'] === 'response';

/** Of a response without its end, only texts and calls are sent, without ids: the API refuses incomplete reasoning. */
export function encodeModelMessage({ parts }: Message, mapCallId: MapCallId, stored: boolean): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let response: JsonObject[] = [];
  let [text, message]: [string, JsonObject] = ['', {}];
  const endText = () => {
    response.push(...encodeText(text, message));
    [text, message] = ['', {}];
  };
  const endResponse = ({ stored: wasStored, order }: JsonObject) => {
    endText();
    response = inOrder(
      response,
      asArray(order).map((id) => mapCallId(String(id))),
    );
    items.push(...(stored && wasStored !== false ? response : omitReferences(response)));
    response = [];
  };
  for (const part of parts) {
    const data = part.type === 'provider' && part.provider === provider ? part.data : undefined;
    if (part.type === 'text') text += part.text;
    else if (data?.['type'] === 'response') endResponse(data);
    else if (data?.['type'] === 'message') {
      endText();
      message = data;
    } else {
      const item = encodeItem(part, mapCallId);
      if (!item) continue;
      endText();
      response.push(item);
    }
  }
  endText();
  return [...items, ...response.filter(isTextOrCall).map(withoutId)];
}

function encodeItem(part: Part, mapCallId: MapCallId): JsonObject | undefined {
  if (part.type === 'toolCall') return encodeCallItem(part, mapCallId(part.id));
  if (part.type === 'provider') return part.provider === provider ? part.data : undefined;
  if (part.type !== 'file') return undefined;
  const item = storedData(part, provider);
  return item['type'] === 'image_generation_call' && part.data !== undefined
    ? { ...item, result: part.data }
    : undefined;
}

function inOrder(items: JsonObject[], order: readonly unknown[]): JsonObject[] {
  if (order.length === 0) return items;
  let place = -1;
  const placed = items.map((item) => {
    const known = order.indexOf(item['call_id'] ?? item['id']);
    if (known !== -1) place = known;
    return { item, place };
  });
  return placed.sort((one, other) => one.place - other.place).map(({ item }) => item);
}

/** Encodes a text of the model. `phase` is sent back because OpenAI requires it for models that send it. */
function encodeText(text: string, { id, phase, refusal }: JsonObject = {}): readonly JsonObject[] {
  if (text === '') return [];
  const content =
    refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
  const status = id === undefined ? undefined : 'completed';
  return [omitUndefined({ type: 'message', role: 'assistant', id, status, phase, content: [content] })];
}

/** Of what was not stored: reasoning without content, and the id of the item after it, which refers to it (404). */
function omitReferences(items: readonly JsonObject[]): readonly JsonObject[] {
  let isReasoningOmitted = false;
  return items.flatMap((item) => {
    const followsOmitted = isReasoningOmitted;
    isReasoningOmitted = false;
    if (item['type'] !== 'reasoning') return [followsOmitted && isTextOrCall(item) ? withoutId(item) : item];
    isReasoningOmitted =
      nonEmptyString(item['encrypted_content']) === undefined && asArray(item['content']).length === 0;
    return isReasoningOmitted ? [] : [item];
  });
}

/** A message has a status only with an id. */
const withoutId = (item: JsonObject): JsonObject =>
  item['type'] === 'message' ? omit(item, 'id', 'status') : omit(item, 'id');

const isTextOrCall = ({ type }: JsonObject): boolean => type === 'message' || isClientCallType(type);
