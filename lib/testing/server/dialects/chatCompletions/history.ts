import { isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import type { Message, Part } from '../../../../core/message.js';
import { createConversation, fileParts, objectsIn, outcomeWithFiles, roleOf, textParts } from '../history.js';

/** Also Cohere (`tool_plan` is the text before the calls) and Ollama (no ids, separate images). */
export function chatHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  for (const message of objectsIn(body['messages'])) {
    const { role, content } = message;
    if (role === 'tool')
      conversation.result(
        message['tool_call_id'],
        message['tool_name'] ?? message['name'],
        outcomeWithFiles(content, partsOf(content)),
      );
    else {
      const images = Array.isArray(message['images']) ? message['images'] : [];
      const parts = [...textParts(message['tool_plan']), ...partsOf(content), ...images.flatMap(image)];
      conversation.add(roleOf(role), parts);
      for (const call of objectsIn(message['tool_calls'])) {
        const { function: fn = {}, custom } = call;
        if (isJsonObject(custom)) conversation.call(call['id'], custom['name'], { input: custom['input'] ?? '' });
        else if (isJsonObject(fn)) conversation.call(call['id'], fn['name'], fn['arguments']);
      }
    }
  }
  return conversation.messages;
}

const image = (data: unknown): readonly Part[] =>
  typeof data === 'string' ? fileParts(`data:image/*;base64,${data}`, 'image/*') : [];

/** Thinking in the content is not part of a message. */
function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return textParts(content);
  return objectsIn(content).flatMap((part): readonly Part[] => {
    const { type, text, image_url: picture, input_audio: sound, file } = part;
    if (type === 'text' || type === 'refusal') return textParts(text ?? part['refusal']);
    if (type === 'image_url') return fileParts(isJsonObject(picture) ? picture['url'] : picture, 'image/*');
    if (type === 'document_url') return fileParts(part['document_url'], 'application/pdf', part['document_name']);
    if (type === 'file' && isJsonObject(file))
      return fileParts(file['file_data'], 'application/octet-stream', file['filename']);
    if (type !== 'input_audio') return [];
    if (!isJsonObject(sound)) return fileParts(sound, 'audio/*');
    return fileParts(
      `data:audio/${nonEmptyString(sound['format']) ?? '*'};base64,${nonEmptyString(sound['data']) ?? ''}`,
      'audio/*',
    );
  });
}
