import type { JsonObject } from '../../../../core/json/json.js';
import type { Message, Part } from '../../../../core/message.js';
import { createConversation, fileParts, objectsIn, outcomeWithFiles, textParts } from '../history.js';

/**
 * Reads the conversation of a Responses API request. It does not include the response that `previous_response_id`
 * refers to. Reasoning and the items of provider-run tools are not parts of a message.
 */
export function responsesHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  const { instructions, input } = body;
  conversation.add('system', textParts(instructions));
  if (typeof input === 'string') conversation.add('user', textParts(input));
  for (const item of objectsIn(input)) {
    const { type, role, content } = item;
    if (type === 'function_call') conversation.call(item['call_id'], item['name'], item['arguments']);
    else if (type === 'function_call_output')
      conversation.result(item['call_id'], undefined, outcomeWithFiles(item['output'], partsOf(item['output'])));
    else if (role !== undefined) conversation.add(roles.get(role) ?? 'user', partsOf(content));
  }
  return conversation.messages;
}

const roles: ReadonlyMap<unknown, Message['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['assistant', 'model'],
]);

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return textParts(content);
  return objectsIn(content).flatMap((part): readonly Part[] => {
    if (part['type'] === 'input_image') return fileParts(part['image_url'], 'image/*');
    if (part['type'] !== 'input_file') return textParts(part['text'] ?? part['refusal']);
    return fileParts(part['file_url'] ?? part['file_data'], 'application/octet-stream', part['filename']);
  });
}
