import { isJsonObject, nonEmptyString, objectOrEmpty, omit } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { isServerCall, isServerResult } from './blockReports.js';
import { isThinkingBlock } from './models.js';

export interface WireMessage extends JsonObject {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

/** Unpaired calls or results of Anthropic's tools, and thinking at the end, would make all later requests fail. */
export function removeRefusedBlocks(messages: readonly WireMessage[]): readonly WireMessage[] {
  const unpaired = findUnpaired(messages);
  if (unpaired.size === 0 && !messages.some(endsWithThinking)) return messages;
  const removedIds = new Set([...unpaired].map(({ id }) => id));
  return messages.flatMap((message) => {
    if (message.role === 'user') return [message];
    const content = repairContent(message.content, unpaired, removedIds);
    if (content === message.content) return [message];
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

export const mayHaveRefusedBlocks = (message: WireMessage): boolean =>
  endsWithThinking(message) || message.content.some(({ type }) => isServerCall(type) || isServerResult(type));

const endsWithThinking = ({ role, content }: WireMessage): boolean =>
  role !== 'user' && isThinkingBlock(content.at(-1)?.['type']);

/** A result may be in a later message of the turn, and a call open until its end ("Handling stop reasons"). */
function findUnpaired(messages: readonly WireMessage[]): ReadonlySet<JsonObject> {
  const unpaired = new Set<JsonObject>();
  const open = new Map<JsonValue | undefined, JsonObject>();
  for (const { role, content } of messages) {
    if (role === 'user') {
      if (content.every(({ type }) => type === 'tool_result')) continue;
      for (const call of open.values()) unpaired.add(call);
      open.clear();
      continue;
    }
    for (const block of content) {
      if (isServerCall(block['type'])) {
        // A string is an input that was cut off.
        if (isJsonObject(block['input'])) open.set(block['id'], block);
        else unpaired.add(block);
      } else if (isServerResult(block['type']) && !open.delete(block['tool_use_id'])) unpaired.add(block);
    }
  }
  return unpaired;
}

function repairContent(
  content: readonly JsonObject[],
  unpaired: ReadonlySet<JsonObject>,
  removedIds: ReadonlySet<JsonValue | undefined>,
): readonly JsonObject[] {
  const kept = unpaired.size === 0 ? content : content.filter((block) => !unpaired.has(block));
  const end = kept.findLastIndex(({ type }) => !isThinkingBlock(type)) + 1;
  if (unpaired.size === 0) return end === kept.length ? content : kept.slice(0, end);
  return kept.slice(0, end).map((block) => withoutCaller(block, removedIds));
}

function withoutCaller(block: JsonObject, removedIds: ReadonlySet<JsonValue | undefined>): JsonObject {
  const caller = nonEmptyString(objectOrEmpty(block['caller'])['tool_id']);
  return caller !== undefined && removedIds.has(caller) ? omit(block, 'caller') : block;
}
