import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message, ToolResultPart } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';

// What several APIs took over from Chat Completions.

/** The texts of a message that say something. */
export const nonEmptyTexts = ({ parts }: Pick<Message, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));

/** Several instructions are set apart by an empty line: many servers' templates take no list here. */
export function encodeSystem(message: Message): readonly JsonObject[] {
  const content = nonEmptyTexts(message).join('\n\n');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** What the user says. A single text goes as a string, which every server understands. */
export function encodeUserContent(content: readonly JsonObject[]): readonly JsonObject[] {
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

/** What a tool answered, as text for an API that has no mark for a failure: a text as it is, anything else as JSON, an error as `{"error": "..."}`. */
export function resultText(part: ToolResultPart): string {
  const answered = part.error === undefined ? part.result : { error: part.error };
  return typeof answered === 'string' ? answered : JSON.stringify(answered);
}

/** The error for a budget where thinking is asked for by an effort. */
export function unsupportedBudgetError(provider: string, budget: number): ConfigurationError {
  return new ConfigurationError(
    'options',
    `${provider} takes no budget for thinking (${budget} tokens).`,
    "Pass an effort: thinking: { effort: 'low' }; or limit the answer, thinking included, with maxOutputTokens.",
  );
}
