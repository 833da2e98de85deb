import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message, ToolResultPart } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';

// The encodings that several APIs have adopted from Chat Completions.

/** The texts of a message that are not empty. */
export const nonEmptyTexts = ({ parts }: Pick<Message, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));

/** A system message. Its texts are separated by blank lines: the templates of many servers accept no array here. */
export function encodeSystem(message: Message): readonly JsonObject[] {
  const content = nonEmptyTexts(message).join('\n\n');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** A user message. A single text is sent as a string, which every server understands. */
export function encodeUserContent(content: readonly JsonObject[]): readonly JsonObject[] {
  const [first, ...others] = content;
  if (!first) return [];
  const onlyText: JsonValue | undefined = others.length === 0 && first['type'] === 'text' ? first['text'] : undefined;
  return [{ role: 'user', content: onlyText ?? content }];
}

/** The definition of a tool. */
export const functionTool = ({ name, description, parameters }: ToolDefinition): JsonObject => ({
  type: 'function',
  function: { name, description, parameters },
});

/** A tool call that the model made. */
export const functionCall = (id: string, name: string, args: JsonObject) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/**
 * The result of a tool as text, for an API that has no field for failures: a text as it is, anything else as JSON, an
 * error as `{"error": "..."}`.
 */
export function resultText(part: ToolResultPart): string {
  const value = part.error === undefined ? part.result : { error: part.error };
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The error for a token budget of thinking, on a provider that expects an effort. */
export function unsupportedBudgetError(provider: string, budget: number): ConfigurationError {
  return new ConfigurationError(
    'options',
    `${provider} does not support a budget for thinking (${budget} tokens).`,
    "Pass an effort: thinking: { effort: 'low' }; or limit the output, thinking included, with maxOutputTokens.",
  );
}
