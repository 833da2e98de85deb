import type { JsonValue } from '../core/json/json.js';
import type { Part } from '../core/message.js';
import type { ModelRequest } from '../core/model.js';

export const conversationTexts = ({ messages }: ModelRequest): readonly string[] =>
  messages.flatMap(({ parts }) => parts.flatMap(collectTexts));

function collectTexts(part: Part): readonly string[] {
  switch (part.type) {
    case 'text':
      return [part.text];
    case 'toolCall':
      return jsonText(part.arguments);
    case 'toolResult':
      return part.error === undefined ? jsonText(part.result) : [part.error];
    default:
      return [];
  }
}

function jsonText(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  try {
    return [JSON.stringify(value)];
  } catch {
    return []; // nested too deeply to be encoded, and so never sent
  }
}
