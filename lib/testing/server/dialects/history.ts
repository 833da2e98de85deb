import { isJsonObject, nonEmptyString, parseJsonOrText } from '../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../core/json/json.js';
import type { FilePart, Message, Part, Role, ToolCallPart, ToolResultPart } from '../../../core/message.js';

/** What a tool answered. */
export type Outcome = { readonly result: JsonValue } | { readonly error: string };

/** A conversation that is read from a request, message by message. */
export interface Conversation {
  /** Adds parts. Neighbours of a role are one message, as `repairHistory` has them: a wire may need several for it. */
  add(role: Role, parts: readonly Part[]): void;
  /** Adds a tool call of the model. One without an id gets one: `call_1`, by its place among those of the conversation. */
  call(id: unknown, name: unknown, args: unknown): void;
  /** Adds a result. It answers the open call of its id; without an id, the first open one of its name. */
  result(id: unknown, name: unknown, outcome: Outcome): void;
  readonly messages: readonly Message[];
}

/** A conversation of which nothing was read. */
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
      const [wantedId, wantedName] = [nonEmptyString(id), nonEmptyString(name)];
      const call = open.find((one) =>
        wantedId === undefined ? one.name === (wantedName ?? one.name) : one.id === wantedId,
      );
      open = open.filter((one) => one !== call);
      const part: ToolResultPart = {
        type: 'toolResult',
        id: call?.id ?? wantedId ?? '',
        name: call?.name ?? wantedName ?? '',
        ...outcome,
      };
      add('user', [part]);
    },
  };
}

/** Arguments as an object; what is none is told as `accumulateToolCalls` tells it. */
function argumentsOf(args: unknown): JsonObject {
  const value = typeof args === 'string' ? parseJsonOrText(args.trim() === '' ? '{}' : args) : args;
  if (isJsonObject(value)) return value;
  return { _raw: typeof args === 'string' ? args : JSON.stringify(args ?? null), _error: 'invalid_json' };
}

/**
 * What a tool answered, from what stands on the wire.
 *
 * @param content The text, or parts with texts.
 * @param failed Whether the wire marks it as an error. Without such a mark, `{ "error": "..." }` is one, as it is sent to the model.
 */
export function outcomeOf(content: unknown, failed = false): Outcome {
  const text = textsIn(content).join('');
  if (failed) return { error: text };
  const result = parseJsonOrText(text);
  const error = isJsonObject(result) && Object.keys(result).length === 1 ? result['error'] : undefined;
  return typeof error === 'string' ? { error } : { result };
}

/** The texts of a content: one that is a text, or its parts' texts. */
export function textsIn(content: unknown): readonly string[] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => {
    const text = isJsonObject(part) ? (part['text'] ?? part['refusal']) : part;
    return typeof text === 'string' && text !== '' ? [text] : [];
  });
}

/** Texts as parts. */
export const textParts = (...texts: readonly unknown[]): readonly Part[] =>
  texts.flatMap((text) => (nonEmptyString(text) === undefined ? [] : [{ type: 'text', text: String(text) }]));

/**
 * A file that a wire has at an address, which may hold its bytes (`data:`).
 *
 * @param at The address; nothing comes of what is none.
 * @param mediaType What it is, where the address does not say.
 * @param name Its name, where it has one.
 */
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

/** Objects of a list; none of what is no list. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
