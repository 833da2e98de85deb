import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message, ToolResultPart } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';

// Encodings that several APIs have adopted from the Chat Completions API.

/** The texts of a message that are not empty. */
export const nonEmptyTexts = ({ parts }: Pick<Message, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));

/**
 * Encodes a system message. Its texts are joined with blank lines, because the chat templates of many servers do not
 * accept an array here.
 */
export function encodeSystem(message: Message): readonly JsonObject[] {
  const content = nonEmptyTexts(message).join('\n\n');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** Encodes a user message. A single text is sent as a string, which every server accepts. */
export function encodeUserContent(content: readonly JsonObject[]): readonly JsonObject[] {
  const [first, ...others] = content;
  if (!first) return [];
  const onlyText: JsonValue | undefined = others.length === 0 && first['type'] === 'text' ? first['text'] : undefined;
  return [{ role: 'user', content: onlyText ?? content }];
}

/** Encodes the definition of a tool. */
export const functionTool = ({ name, description, parameters }: ToolDefinition): JsonObject => ({
  type: 'function',
  function: { name, description, parameters },
});

/** Encodes a tool call of a model message. */
export const functionCall = (id: string, name: string, args: JsonObject) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/**
 * Converts the result of a tool to text, for an API that has no field for failures. A text is unchanged, any other
 * value becomes JSON, and an error becomes `{"error": "..."}`.
 */
export function resultText(part: ToolResultPart): string {
  const value = part.error === undefined ? part.result : { error: part.error };
  return typeof value === 'string' ? value : JSON.stringify(value);
}
