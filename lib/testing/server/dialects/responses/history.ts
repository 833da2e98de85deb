import { nonEmptyString, objectOrEmpty, omitUndefined } from '../../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import type { Message, Part } from '../../../../core/message.js';
import {
  createConversation,
  fileParts,
  objectsIn,
  outcomeOf,
  outcomeWithFiles,
  roleOf,
  textParts,
} from '../history.js';
import type { Outcome } from '../history.js';

/** The previous response, reasoning, and the items of provider-run tools are not read. */
export function responsesHistory(body: JsonObject): readonly Message[] {
  const conversation = createConversation();
  const { instructions, input } = body;
  conversation.add('system', textParts(instructions));
  if (typeof input === 'string') conversation.add('user', textParts(input));
  for (const item of objectsIn(input)) {
    const { type, role, content } = item;
    const call = readCall(item);
    if (call) conversation.call(item['call_id'], call.name, call.arguments);
    else if (nonEmptyString(type)?.endsWith('_output'))
      conversation.result(item['call_id'], undefined, outcomeOfItem(item));
    else if (role !== undefined) conversation.add(roleOf(role), partsOf(content));
  }
  return conversation.messages;
}

function readCall(item: JsonObject): { readonly name: JsonValue | undefined; readonly arguments: unknown } | undefined {
  const { type, name, action, actions, operation, input } = item;
  switch (type) {
    case 'function_call':
      return { name, arguments: item['arguments'] };
    case 'custom_tool_call':
      return { name, arguments: { input } };
    case 'shell_call':
    case 'local_shell_call':
      return { name: type === 'shell_call' ? 'shell' : 'local_shell', arguments: action };
    case 'apply_patch_call':
      return { name: 'apply_patch', arguments: operation };
    case 'computer_call':
      return { name: 'computer', arguments: omitUndefined({ action, actions }) };
    case 'tool_search_call':
      return { name: 'tool_search', arguments: item['arguments'] };
    default:
      return undefined;
  }
}

function outcomeOfItem({ type, output, tools, status }: JsonObject): Outcome {
  switch (type) {
    case 'computer_call_output':
      return { result: fileParts(objectOrEmpty(output)['image_url'], 'image/*')[0] ?? null };
    case 'tool_search_output':
      return { result: tools ?? [] };
    case 'shell_call_output':
      return { result: output ?? null };
    case 'apply_patch_call_output':
      return outcomeOf(output, status === 'failed');
    default:
      return outcomeWithFiles(output, partsOf(output));
  }
}

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return textParts(content);
  return objectsIn(content).flatMap((part): readonly Part[] => {
    if (part['type'] === 'input_image') return fileParts(part['image_url'], 'image/*');
    if (part['type'] !== 'input_file') return textParts(part['text'] ?? part['refusal']);
    return fileParts(part['file_url'] ?? part['file_data'], 'application/octet-stream', part['filename']);
  });
}
