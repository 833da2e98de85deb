import { isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import type { FilePart, Message, Part } from '../../../../core/message.js';
import { createConversation, fileParts, objectsIn, textParts, textsIn, type Outcome } from '../history.js';

/** Most calls have no id: results are matched by name and order. */
export function googleHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  const instructions = body['systemInstruction'];
  conversation.add('system', textParts(...textsIn(isJsonObject(instructions) ? instructions['parts'] : undefined)));
  for (const { role, parts } of objectsIn(body['contents'])) {
    for (const part of objectsIn(parts)) {
      const { functionCall: call, functionResponse: answer } = part;
      if (isJsonObject(call)) conversation.call(call['id'], call['name'], call['args'] ?? {});
      else if (isJsonObject(answer)) conversation.result(answer['id'], answer['name'], resultOf(answer));
      else conversation.add(role === 'model' ? 'model' : 'user', partsOf(part));
    }
  }
  return conversation.messages;
}

/** A response with files (`parts`) is an array of its result and the files. */
function resultOf({ response, parts }: JsonObject): Outcome {
  const outcome = outcomeOf(response);
  const files = objectsIn(parts).flatMap(partsOf);
  if (files.length === 0 || 'error' in outcome) return outcome;
  const isEmpty = isJsonObject(outcome.result) && Object.keys(outcome.result).length === 0;
  return {
    result: [...(isEmpty ? [] : [outcome.result]), ...files.map((file): JsonObject => ({ ...(file as FilePart) }))],
  };
}

/** The API knows two keys. A response without them is the result itself ("FunctionResponse"). */
function outcomeOf(response: unknown): Outcome {
  if (!isJsonObject(response)) return { result: null };
  if (typeof response['error'] === 'string') return { error: response['error'] };
  return { result: response['result'] ?? response['output'] ?? ('result' in response ? null : response) };
}

function partsOf({ text, thought, inlineData: bytes, fileData: file }: JsonObject): readonly Part[] {
  if (thought === true) return [];
  if (isJsonObject(bytes)) {
    const mediaType = nonEmptyString(bytes['mimeType']) ?? 'application/octet-stream';
    return fileParts(`data:${mediaType};base64,${nonEmptyString(bytes['data']) ?? ''}`, mediaType);
  }
  return isJsonObject(file)
    ? fileParts(file['fileUri'], nonEmptyString(file['mimeType']) ?? 'application/octet-stream')
    : textParts(text);
}
