import { asArray, isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, ToolCallPart } from '../../core/message.js';
import { isClientCallType } from './clientCalls.js';
import { provider } from './models.js';

/** Returns the provider data of a model message; undefined for a message of another provider or role. */
export function readReplayData(message: Message): JsonObject | undefined {
  const data = message.role === 'model' ? message.metadata?.[provider] : undefined;
  return isJsonObject(data) ? data : undefined;
}

/** Returns the stored items of a model message; an empty array for a message of another provider. */
export const readStoredItems = (message: Message): readonly JsonObject[] =>
  asArray(readReplayData(message)?.['output']).filter(isJsonObject);

/** Whether the API stores the response. True unless the API reported the opposite. */
export const isStored = (message: Message): boolean => readReplayData(message)?.['stored'] !== false;

/** Reads the id of the item that a part came from; undefined if the server sent no id. */
export const readItemId = (part: FilePart | ToolCallPart): string | undefined =>
  nonEmptyString(objectOrEmpty(part.providerData?.[provider])['id']);

/**
 * Pairs the calls of a message with their stored items: by the item's id, or by the call's id if there is no item id.
 * Calls with the same item id are paired in order.
 */
export function pairCallsWithItems(message: Message): ReadonlyMap<ToolCallPart, JsonObject> {
  const unpaired = new Map<string, JsonObject[]>();
  for (const item of [...readStoredItems(message)].reverse()) {
    if (!isClientCallType(item['type'])) continue;
    for (const key of [`item ${nonEmptyString(item['id'])}`, `call ${nonEmptyString(item['call_id'])}`]) {
      const sameKey = unpaired.get(key) ?? [];
      sameKey.push(item);
      unpaired.set(key, sameKey);
    }
  }
  const items = new Map<ToolCallPart, JsonObject>();
  for (const call of toolCallsOf(message)) {
    const id = readItemId(call);
    const item = unpaired.get(id === undefined ? `call ${call.id}` : `item ${id}`)?.pop();
    if (item) items.set(call, item);
  }
  return items;
}
