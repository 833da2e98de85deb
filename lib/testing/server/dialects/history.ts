import { isJsonObject, nonEmptyString, parseJsonOrText } from '../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../core/json/json.js';
import type { FilePart, Message, Part, Role, ToolCallPart, ToolResultPart } from '../../../core/message.js';

export type Outcome = { readonly result: JsonValue } | { readonly error: string };

export interface Conversation {
  /** Adjacent messages of a role become one, as in `repairHistory`. */
  add(role: Role, parts: readonly Part[]): void;
  /** A call without an id gets one: `call_1`, by its position among the calls of the conversation. */
  call(id: unknown, name: unknown, args: unknown): void;
  /** A result answers the open call with its id; without an id, the first open call with its name. */
  result(id: unknown, name: unknown, outcome: Outcome): void;
  readonly messages: readonly Message[];
}

export function createConversation(): Conversation {
  const messages: Message[] = [];
  let open: ToolCallPart[] = [];
  let calls = 0;
  const add = (role: Role, parts: readonly Part[]) => {
    const last = messages.at(-1);
    if (parts.length === 0) return;
    if (last?.role === role) messages[messages.length - 1] = { role, parts: [...last.parts, ...parts] };
    else messages.push({ role, parts });
  };
  return {
    messages,
    add,
    call(id, name, args) {
      calls += 1;
      const call: ToolCallPart = {
        type: 'toolCall',
        id: nonEmptyString(id) ?? `call_${calls}`,
        name: nonEmptyString(name) ?? '',
        arguments: argumentsOf(args),
      };
      open.push(call);
      add('model', [call]);
    },
    result(id, name, outcome) {
      const [callId, callName] = [nonEmptyString(id), nonEmptyString(name)];
      const call = open.find((one) => (callId === undefined ? one.name === (callName ?? one.name) : one.id === callId));
      open = open.filter((one) => one !== call);
      const part: ToolResultPart = {
        type: 'toolResult',
        id: call?.id ?? callId ?? '',
        name: call?.name ?? callName ?? '',
        ...outcome,
      };
      add('user', [part]);
    },
  };
}

/** Other values are reported as `accumulateToolCalls` reports them. */
function argumentsOf(args: unknown): JsonObject {
  const value = typeof args === 'string' ? parseJsonOrText(args.trim() === '' ? '{}' : args) : args;
  if (isJsonObject(value)) return value;
  return { _raw: typeof args === 'string' ? args : JSON.stringify(args ?? null), _error: 'invalid_json' };
}

/** Without a mark that it failed, `{ "error": "..." }` is an error: errors are sent to the model so. */
export function outcomeOf(content: unknown, failed = false): Outcome {
  const text = textsIn(content).join('');
  if (failed) return { error: text };
  const result = parseJsonOrText(text);
  const error = isJsonObject(result) && Object.keys(result).length === 1 ? result['error'] : undefined;
  return typeof error === 'string' ? { error } : { result };
}

/** A content with files is an array of texts and file parts, as a tool returns it. */
export function outcomeWithFiles(content: unknown, parts: readonly Part[]): Outcome {
  return parts.some(({ type }) => type === 'file') ? { result: parts as readonly JsonValue[] } : outcomeOf(content);
}

export function textsIn(content: unknown): readonly string[] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => {
    const text = isJsonObject(part) ? (part['text'] ?? part['refusal']) : part;
    return typeof text === 'string' && text !== '' ? [text] : [];
  });
}

export const textParts = (...texts: readonly unknown[]): readonly Part[] =>
  texts.flatMap((text) => (nonEmptyString(text) === undefined ? [] : [{ type: 'text', text: String(text) }]));

/** A URL may contain the bytes (`data:`). Any other value results in no part. */
export function fileParts(at: unknown, mediaType: string, name?: unknown): readonly FilePart[] {
  const url = nonEmptyString(at);
  if (url === undefined) return [];
  const inline = /^data:([^;,]+)(?:;[^;,]*)*;base64,(.*)$/is.exec(url);
  const named = nonEmptyString(name) === undefined ? {} : { name: String(name) };
  return [
    inline
      ? { type: 'file', mediaType: inline[1] ?? mediaType, data: inline[2] ?? '', ...named }
      : { type: 'file', mediaType, url, ...named },
  ];
}

export function roleOf(role: unknown): Role {
  if (role === 'assistant') return 'model';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
