import { isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import type { Message, Part } from '../../../../core/message.js';
import { createConversation, fileParts, objectsIn, outcomeOf, outcomeWithFiles, textParts } from '../history.js';

/** Thoughts and the steps of Google's tools do not belong to messages. */
export function interactionsHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  conversation.add('system', textParts(body['system_instruction']));
  if (typeof body['input'] === 'string') conversation.add('user', textParts(body['input']));
  for (const step of objectsIn(body['input'])) {
    const { type, content, result } = step;
    if (type === 'user_input') conversation.add('user', objectsIn(content).flatMap(partsOf));
    else if (type === 'model_output') conversation.add('model', objectsIn(content).flatMap(partsOf));
    else if (type === 'function_call') conversation.call(step['id'], step['name'], step['arguments']);
    else if (type === 'function_result')
      conversation.result(
        step['call_id'],
        step['name'],
        step['is_error'] === true
          ? outcomeOf(result, true)
          : isJsonObject(result)
            ? { result }
            : outcomeWithFiles(result, objectsIn(result).flatMap(partsOf)),
      );
  }
  return conversation.messages;
}

function partsOf({ text, data, uri, mime_type: mimeType }: JsonObject): readonly Part[] {
  if (typeof text === 'string') return textParts(text);
  const mediaType = nonEmptyString(mimeType) ?? 'application/octet-stream';
  const bytes = nonEmptyString(data);
  return fileParts(bytes === undefined ? uri : `data:${mediaType};base64,${bytes}`, mediaType);
}
