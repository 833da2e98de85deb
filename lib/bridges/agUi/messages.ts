import { isRecord, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { AgUiContent, AgUiMessage, AgUiPart, AgUiSource, AgUiToolCall } from './protocol.js';

/**
 * Converts the messages of an AG-UI client to a history.
 *
 * Reasoning and activities are not part of a history. A result that is a JSON object or array is parsed. A result of a
 * call that is not in the messages is omitted, since no provider accepts it.
 *
 * @param messages The messages, as the client sent them. The client may have changed any of them: whoever sends a
 * request writes its history.
 * @returns The history, for `agent.stream([], { history })`.
 */
export function fromAgUiMessages(messages: readonly AgUiMessage[]): readonly Message[] {
  const results = new Map<string, ToolMessage>();
  for (const message of messages)
    if (message.role === 'tool' && !results.has(message.toolCallId)) results.set(message.toolCallId, message);
  return messages.flatMap((message) => fromMessage(message, results)).filter(({ parts }) => parts.length > 0);
}

type ToolMessage = Extract<AgUiMessage, { readonly role: 'tool' }>;

/** The results of a message's calls are one message, right after it, wherever the client has put them. */
function fromMessage(message: AgUiMessage, results: ReadonlyMap<string, ToolMessage>): readonly Message[] {
  switch (message.role) {
    case 'developer':
    case 'system':
      return [{ role: 'system', parts: textParts(message.content) }];
    case 'user':
      return [{ role: 'user', parts: fromContent(message.content) }];
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(fromToolCall);
      const answers = calls.flatMap(({ id, name }) => {
        const result = results.get(id);
        return result ? [fromToolMessage(result, name)] : [];
      });
      return [
        { role: 'model', parts: [...textParts(message.content ?? ''), ...calls] },
        { role: 'user', parts: answers },
      ];
    }
    default:
      return [];
  }
}

const textParts = (text: string): readonly TextPart[] => (text === '' ? [] : [{ type: 'text', text }]);

function fromToolCall({ id, function: { name, arguments: args } }: AgUiToolCall): ToolCallPart {
  return { type: 'toolCall', id, name, arguments: parseArguments(args) };
}

/** The arguments of a call from their JSON text. A text that is not an object is kept, and never executed. */
export function parseArguments(text: string): JsonObject {
  const parsed = text.trim() === '' ? {} : tryParseJson(text);
  return isRecord(parsed) ? parsed : { _raw: text, _error: 'invalid_json' };
}

/** The JSON text of arguments: the text that the model wrote, if it was not JSON. */
export const argumentsText = (args: JsonObject): string =>
  args['_error'] === 'invalid_json' && typeof args['_raw'] === 'string' ? args['_raw'] : JSON.stringify(args);

/** The result of a call from a tool message. */
export function fromToolMessage(message: ToolMessage, name: string): ToolResultPart {
  const { toolCallId: id, content, error } = message;
  const failure = error ?? (isFailure(message.metadata) ? contentText(content) : undefined);
  if (failure !== undefined) return { type: 'toolResult', id, name, error: failure };
  return { type: 'toolResult', id, name, result: resultOf(content) };
}

/** A result from a content: the value of a JSON object or array, otherwise the text; or texts and files. */
export function resultOf(content: AgUiContent): JsonValue {
  if (typeof content !== 'string') return fromContent(content) as unknown as JsonValue;
  const parsed = tryParseJson(content);
  return typeof parsed === 'object' && parsed !== null ? parsed : content;
}

const contentText = (content: AgUiContent): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('');

function fromContent(content: AgUiContent): readonly (TextPart | FilePart)[] {
  if (typeof content === 'string') return textParts(content);
  return content.flatMap((part) => (part.type === 'text' ? textParts(part.text) : fromSource(part.type, part.source)));
}

const mediaTypes = { image: 'image/*', audio: 'audio/*', video: 'video/*', document: 'application/pdf' };

/** A file of the client's own storage (`file`) cannot be read here: the model learns that it was there. */
function fromSource(type: keyof typeof mediaTypes, { type: kind, value, mimeType }: AgUiSource): FilePart | TextPart {
  const mediaType = mimeType ?? mediaTypes[type];
  if (kind === 'data') return { type: 'file', mediaType, data: value };
  if (kind === 'url') return { type: 'file', mediaType, url: value };
  return { type: 'text', text: `[${type}: ${value}]` };
}

/**
 * Converts a history to the messages of AG-UI.
 *
 * @param messages The history. Sources are omitted, and of the model's messages the files: AG-UI has no place for them.
 * @param idOf Returns the id of a message by its number in the result. Default: the number, from 1.
 * @returns The messages. The results of a turn are a message each.
 */
export function toAgUiMessages(
  messages: readonly Message[],
  idOf: (index: number) => string = (index) => String(index + 1),
): readonly AgUiMessage[] {
  return messages.flatMap(toMessages).map((message, index) => ({ ...message, id: idOf(index) }));
}

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

function toMessages({ role, parts }: Message): readonly WithoutId<AgUiMessage>[] {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  if (role === 'system') return [{ role, content: text }];
  if (role === 'model') {
    const toolCalls = parts.filter((part) => part.type === 'toolCall').map(toToolCall);
    return [{ role: 'assistant', ...(text ? { content: text } : {}), ...(toolCalls.length > 0 ? { toolCalls } : {}) }];
  }
  const results = parts.filter((part) => part.type === 'toolResult').map(toToolMessage);
  const content = toContent(parts);
  return content.length > 0 ? [...results, { role, content }] : results;
}

const toToolCall = ({ id, name, arguments: args }: ToolCallPart): AgUiToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: argumentsText(args) },
});

const toToolMessage = (part: ToolResultPart): WithoutId<ToolMessage> => ({
  role: 'tool',
  toolCallId: part.id,
  content: resultContent(part),
  ...(part.error === undefined ? {} : { error: part.error }),
});

/** What a tool result event says about a failure, since it has no field for it. */
export const failureMetadata = (part: ToolResultPart): { readonly metadata?: JsonObject } =>
  part.error === undefined
    ? {}
    : { metadata: { rivulet: { failed: true, ...(part.code ? { code: part.code } : {}) } } };

/** Whether the metadata of a result says that the call failed. */
export function isFailure(metadata: JsonObject | undefined): boolean {
  const own = metadata?.['rivulet'];
  return isRecord(own) && own['failed'] === true;
}

/** The content of a tool message: a text, or the texts and files of the result. */
export function resultContent(part: ToolResultPart): AgUiContent {
  if (part.error !== undefined) return part.error;
  const { result } = part;
  if (typeof result === 'string') return result;
  const list = Array.isArray(result) ? (result as readonly JsonValue[]) : [result];
  return list.some(isFile) && list.every((value) => isFile(value) || isTextOrString(value))
    ? toContent(list.map((value) => (typeof value === 'string' ? { type: 'text', text: value } : value) as Part))
    : JSON.stringify(result);
}

const isFile = (value: unknown): value is FilePart =>
  isRecord(value) && value['type'] === 'file' && typeof value['mediaType'] === 'string';
const isTextOrString = (value: unknown) =>
  typeof value === 'string' || (isRecord(value) && value['type'] === 'text' && typeof value['text'] === 'string');

/** The texts and files of a message: a text if there is nothing else. */
function toContent(parts: readonly Part[]): AgUiContent {
  const content = parts.flatMap((part): readonly AgUiPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    return part.type === 'file' ? [{ type: kindOf(part.mediaType), source: toSource(part) }] : [];
  });
  return content.every((part) => part.type === 'text') ? content.map(({ text }) => text).join('') : content;
}

const toSource = (file: FilePart): AgUiSource =>
  file.data === undefined
    ? { type: 'url', value: file.url, mimeType: file.mediaType }
    : { type: 'data', value: file.data, mimeType: file.mediaType };

function kindOf(mediaType: string): 'image' | 'audio' | 'video' | 'document' {
  const [kind] = mediaType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
