import type { JsonObject, JsonValue } from '../../core/json.js';
import type { Message } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';

// What several APIs took over from Chat Completions.

/** The texts of a message that say something. */
export const textsIn = ({ parts }: Pick<Message, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));

/** Several instructions are set apart by an empty line: many servers' templates take no list here. */
export function encodeSystem(message: Message): readonly JsonObject[] {
  const content = textsIn(message).join('\n\n');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** What the user says. A single text goes as a string, which every server understands. */
export function encodeSaid(content: readonly JsonObject[]): readonly JsonObject[] {
  const [first, ...others] = content;
  if (!first) return [];
  const only: JsonValue | undefined = others.length === 0 && first['type'] === 'text' ? first['text'] : undefined;
  return [{ role: 'user', content: only ?? content }];
}

/** A tool as the model is told of it. */
export const functionTool = ({ name, description, parameters }: ToolDefinition): JsonObject => ({
  type: 'function',
  function: { name, description, parameters },
});

/** A call that the model made. */
export const functionCall = (id: string, name: string, args: JsonObject) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});
