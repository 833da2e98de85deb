import { isRecord, objectOrEmpty, tryParseFinite, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolErrorCode } from '../../core/message.js';
import type { ToolResultPart } from '../../core/message.js';
import { isDropped } from './marks.js';
import type { AgUiContent, AgUiMessage, AgUiPart, AgUiSource, AgUiToolCall } from './protocol.js';

/**
 * Converts the messages of an AG-UI client to a history.
 *
 * Reasoning and activities are not part of a history. A result that is a JSON object or array is parsed. A result of a
 * call that is not in the messages is omitted, since no provider accepts it. Each result answers one
 * call, also if calls have the same id: the first result answers the first call.
 *
 * @param messages The messages, as the client sent them. Untrusted: the client can write any message.
 * @returns The history, for `agent.stream([], { history })`.
 */
export function fromAgUiMessages(messages: readonly AgUiMessage[]): readonly Message[] {
  const results = new Map<string, ToolMessage[]>();
  for (const message of messages)
    if (message.role === 'tool' && !results.get(message.toolCallId)?.push(message))
      results.set(message.toolCallId, [message]);
  return messages.flatMap((message) => fromMessage(message, results)).filter(({ parts }) => parts.length > 0);
}

type ToolMessage = Extract<AgUiMessage, { readonly role: 'tool' }>;

function fromMessage(message: AgUiMessage, results: ReadonlyMap<string, ToolMessage[]>): readonly Message[] {
  switch (message.role) {
    case 'developer':
    case 'system':
      return [{ role: 'system', parts: textParts(message.content) }];
    case 'user':
      return [{ role: 'user', parts: fromContent(message.content) }];
    case 'assistant': {
      const calls = (message.toolCalls ?? []).filter((call) => !isDropped(call)).map(fromToolCall);
      const answers = calls.flatMap(({ id, name }) => {
        const result = results.get(id)?.shift(); // each is the result of one call
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

export const collectCalls = (messages: readonly AgUiMessage[]): readonly AgUiToolCall[] =>
  messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));

/** Other texts than JSON objects become `{ _raw, _error }`, which `executeTools` rejects. */
export function parseArguments(text: string): JsonObject {
  const parsed = text.trim() === '' ? {} : tryParseFinite(text);
  return isRecord(parsed) ? parsed : { _raw: text, _error: 'invalid_json' };
}

/** The inverse of `parseArguments`. */
export function argumentsText(args: JsonObject): string {
  const { _raw: raw, _error: error, ...others } = args;
  const isInvalid = error === 'invalid_json' && typeof raw === 'string' && Object.keys(others).length === 0;
  return isInvalid ? raw : JSON.stringify(args);
}

export function fromToolMessage(
  { toolCallId: id, content, error, metadata }: Pick<ToolMessage, 'toolCallId' | 'content' | 'error' | 'metadata'>,
  name: string,
): ToolResultPart {
  const { failed, code, json } = objectOrEmpty(metadata?.['rivulet']);
  const failure = error ?? (failed === true ? contentText(content) : undefined);
  if (failure === undefined) return { type: 'toolResult', id, name, result: parseResult(content, json) };
  return { type: 'toolResult', id, name, error: failure, ...(isErrorCode(code) ? { code } : {}) };
}

const errorCodes: Readonly<Record<ToolErrorCode, true>> = {
  cancelled: true,
  not_executed: true,
  denied: true,
  unknown_tool: true,
  invalid_arguments: true,
  timeout: true,
  failed: true,
  outcome_unknown: true,
  incomplete: true,
};
const isErrorCode = (code: unknown): code is ToolErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code);

function parseResult(content: AgUiContent, isJson: unknown): JsonValue {
  if (typeof content !== 'string') return fromContent(content) as unknown as JsonValue;
  if (isJson === false) return content;
  const parsed = tryParseFinite(content);
  return parsed !== undefined && (isJson === true || isContainer(parsed)) ? parsed : content;
}

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null;

const contentText = (content: AgUiContent): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('');

function fromContent(content: AgUiContent): readonly (TextPart | FilePart)[] {
  if (typeof content === 'string') return textParts(content);
  return content.flatMap((part) => (part.type === 'text' ? textParts(part.text) : fromSource(part.type, part.source)));
}

const mediaTypes = { image: 'image/*', audio: 'audio/*', video: 'video/*', document: 'application/pdf' };

/** A file in the client's own storage cannot be read here: a text tells the model that it exists. */
function fromSource(type: keyof typeof mediaTypes, { type: kind, value, mimeType }: AgUiSource): FilePart | TextPart {
  const mediaType = mimeType ?? mediaTypes[type];
  if (kind === 'data') return { type: 'file', mediaType, data: value };
  if (kind === 'url') return { type: 'file', mediaType, url: value };
  return { type: 'text', text: `[${type}: ${value}]` };
}

/**
 * Converts a history to the messages of AG-UI.
 *
 * @param messages The history. Sources, and files in the model's messages, are omitted: AG-UI has no field for them.
 * @param idOf Returns the id of a message by its number in the result. Default: the number, from 1.
 * @returns The messages. Each result of a turn is a message of its own.
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
  ...resultMetadata(part),
});

/** AG-UI has no field for failure, and for whether ambiguous text is JSON. */
export function resultMetadata({ error, code, result }: ToolResultPart): { readonly metadata?: JsonObject } {
  const mark = (fields: JsonObject) => ({ metadata: { rivulet: fields } });
  if (error !== undefined) return mark({ failed: true, ...(code ? { code } : {}) });
  if (typeof result === 'string') return isContainer(tryParseFinite(result)) ? mark({ json: false }) : {};
  return isContainer(result) ? {} : mark({ json: true });
}

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

function toContent(parts: readonly Part[]): AgUiContent {
  const content = parts.flatMap((part): readonly AgUiPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    return part.type === 'file' ? [{ type: partType(part.mediaType), source: toSource(part) }] : [];
  });
  return content.every((part) => part.type === 'text') ? content.map(({ text }) => text).join('') : content;
}

const toSource = (file: FilePart): AgUiSource =>
  file.data === undefined
    ? { type: 'url', value: file.url, mimeType: file.mediaType }
    : { type: 'data', value: file.data, mimeType: file.mediaType };

function partType(mediaType: string): 'image' | 'audio' | 'video' | 'document' {
  const [kind] = mediaType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
