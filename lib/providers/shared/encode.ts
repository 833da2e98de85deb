import { growing } from '../../core/growing.js';
import type { JsonObject } from '../../core/json/json.js';
import { editedArgumentsNote, type Message, type TextPart, type ToolResultPart } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import { withProviderOptions } from './providerOptions.js';
import { encodeJson } from '../../protocol/encodeOnce.js';

// Encodings that several APIs have adopted from the Chat Completions API.

export function encodeSystemMessages<T>(
  encode: (system: readonly Message[]) => T,
): (messages: readonly Message[]) => T | undefined {
  const encodeGrowing = growing<Message, { readonly system: readonly Message[]; readonly encoded?: T }>(
    { system: [] },
    (known, message) => {
      if (message.role !== 'system') return known;
      const system = [...known.system, message];
      return { system, encoded: encode(system) };
    },
  );
  return (messages) => encodeGrowing(messages).encoded;
}

export const nonEmptyTexts = ({ parts }: Pick<Message, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));

export const encodeText = (part: TextPart, provider: string): JsonObject =>
  withProviderOptions({ type: 'text', text: part.text }, provider, part);

/** One text, with blank lines: many chat templates reject an array, sent only for provider options. */
export function encodeSystem(message: Message, provider: string): readonly JsonObject[] {
  const texts = message.parts.filter((part) => part.type === 'text').filter(({ text }) => text !== '');
  if (texts.length === 0) return [];
  const hasOptions = texts.some(({ providerOptions }) => providerOptions?.[provider]);
  const content = hasOptions
    ? texts.map((part) => encodeText(part, provider))
    : texts.map(({ text }) => text).join('\n\n');
  return [{ role: 'system', content }];
}

/** Encodes a user message. A single text without options is sent as a string, which every server accepts. */
export function encodeUserContent(content: readonly JsonObject[]): readonly JsonObject[] {
  const [first, ...others] = content;
  if (!first) return [];
  const isPlainText = others.length === 0 && first['type'] === 'text' && Object.keys(first).length === 2;
  return [{ role: 'user', content: isPlainText ? (first['text'] ?? '') : content }];
}

/** Encodes the definition of a tool. Its provider options (`strict`) are fields of `function`. */
export const functionTool = (tool: ToolDefinition, provider: string): JsonObject => {
  const { name, description, parameters } = tool;
  return { type: 'function', function: withProviderOptions({ name, description, parameters }, provider, tool) };
};

export const functionCall = (id: string, name: string, args: JsonObject) => ({
  id,
  type: 'function',
  function: { name, arguments: encodeJson(args) },
});

/** For an API without a field for failures: other values become JSON, an error `{"error": "..."}`. */
export function resultText(part: ToolResultPart): string {
  const value = part.error === undefined ? part.result : { error: part.error };
  return editedArgumentsNote(part) + (typeof value === 'string' ? value : encodeJson(value ?? null));
}
