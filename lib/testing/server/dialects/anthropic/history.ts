import { isJsonObject, nonEmptyString, type JsonObject, type JsonValue } from '../../../../core/json/json.js';
import type { FilePart, Message, Part } from '../../../../core/message.js';
import { createConversation, fileParts, objectsIn, outcomeOf, textParts, textsIn, type Outcome } from '../history.js';

/** Thinking is not part of a message. */
export function anthropicHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  conversation.add('system', textParts(...textsIn(body['system'])));
  for (const { role, content } of objectsIn(body['messages'])) {
    const ourRole = role === 'assistant' ? 'model' : 'user';
    if (typeof content === 'string') conversation.add(ourRole, textParts(content));
    for (const block of objectsIn(content)) {
      if (block['type'] === 'tool_use') conversation.call(block['id'], block['name'], block['input']);
      else if (block['type'] === 'tool_result') conversation.result(block['tool_use_id'], undefined, resultOf(block));
      else conversation.add(ourRole, partsOf(block));
    }
  }
  return conversation.messages;
}

/** A result with files is an array of its texts and files. */
function resultOf({ content, is_error }: JsonObject): Outcome {
  const blocks = objectsIn(content);
  if (!blocks.some(({ type }) => type === 'image' || type === 'document')) return outcomeOf(content, is_error === true);
  return { result: blocks.map((block) => partsOf(block).map(toJson)[0] ?? block) };
}

const toJson = (part: Part): JsonValue => (part.type === 'text' ? part.text : { ...(part as FilePart) });

function partsOf({ type, text, source, title }: JsonObject): readonly Part[] {
  if (type === 'text') return textParts(text);
  if ((type !== 'image' && type !== 'document') || !isJsonObject(source)) return [];
  if (source['type'] === 'text') return textParts(source['data']);
  const mediaType = nonEmptyString(source['media_type']) ?? (type === 'image' ? 'image/*' : 'application/pdf');
  return fileParts(
    source['url'] ?? `data:${mediaType};base64,${nonEmptyString(source['data']) ?? ''}`,
    mediaType,
    title,
  );
}
