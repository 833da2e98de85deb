import type { JsonObject, JsonValue } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { Dialect } from './dialect.js';
import { replayed } from './echo.js';
import { encodeFile } from './files.js';

/** The conversation as the API's messages. One of ours may be several of theirs, or none: what cannot be sent is left out. */
export function encodeMessages(messages: readonly Message[], dialect: Dialect): readonly JsonObject[] {
  return messages.flatMap((message) => {
    if (message.role === 'system') return encodeSystem(message);
    return message.role === 'user' ? encodeUser(message, dialect) : encodeModel(message, dialect);
  });
}

/** Several instructions are set apart by an empty line: many servers' templates take no list here. */
function encodeSystem({ parts }: Message): readonly JsonObject[] {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }];
}

/** Results come first: the API wants them right behind the calls. */
function encodeUser({ parts }: Message, dialect: Dialect): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, dialect));
  const content = parts.flatMap((part) => encodeContent(part, dialect));
  return content.length === 0 ? results : [...results, { role: 'user', content: simplest(content) }];
}

function encodeContent(part: Part, dialect: Dialect): readonly JsonObject[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }];
  return part.type === 'file' ? [encodeFile(part, dialect)] : [];
}

/** A single text goes as a string, which every server understands. */
function simplest(content: readonly JsonObject[]): JsonValue {
  const [first, ...others] = content;
  return others.length === 0 && first?.['type'] === 'text' ? (first['text'] ?? '') : content;
}

function encodeResult(part: ToolResultPart, { callId = asItIs }: Dialect): JsonObject {
  const content = part.error === undefined ? part.result : { error: part.error };
  return { role: 'tool', tool_call_id: callId(part.id), content: typeof content === 'string' ? content : JSON.stringify(content) };
}

/** Sources and files that the model made have no place in this API's history. */
function encodeModel(message: Message, dialect: Dialect): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => encodeCall(call, dialect));
  if (text === '' && calls.length === 0) return [];
  return [{ role: 'assistant', ...replayed(text, message.metadata?.[dialect.provider]), ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

function encodeCall({ id, name, arguments: args, providerData }: ToolCallPart, { provider, callId = asItIs }: Dialect): JsonObject {
  const own = providerData?.[provider];
  const extra = isJsonObject(own) && isJsonObject(own['extra_content']) ? { extra_content: own['extra_content'] } : {};
  return { id: callId(id), type: 'function', function: { name, arguments: JSON.stringify(args) }, ...extra };
}

const asItIs = (id: string): string => id;
