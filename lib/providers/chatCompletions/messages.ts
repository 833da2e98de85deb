import { objectOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { encodeSaid, encodeSystem, functionCall } from '../shared/chatMessages.js';
import { resultText } from '../shared/results.js';
import type { Dialect } from './dialect.js';
import { replayed } from './echo.js';
import { encodeFile } from './files.js';

/** A message as the API's messages. One of ours may be several of theirs, or none: what cannot be sent is left out. */
export function encodeMessage(message: Message, dialect: Dialect): readonly JsonObject[] {
  if (message.role === 'system') return encodeSystem(message);
  return message.role === 'user' ? encodeUser(message, dialect) : encodeModel(message, dialect);
}

/** Results come first: the API wants them right behind the calls. */
function encodeUser({ parts }: Message, dialect: Dialect): readonly JsonObject[] {
  const encoded: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const part of parts) {
    if (part.type === 'toolResult') encoded.push(encodeResult(part, dialect));
    else if (part.type === 'text') content.push({ type: 'text', text: part.text });
    else if (part.type === 'file') content.push(encodeFile(part, dialect));
  }
  return content.length === 0 ? encoded : [...encoded, ...encodeSaid(content)];
}

function encodeResult(part: ToolResultPart, { callId = asItIs }: Dialect): JsonObject {
  return { role: 'tool', tool_call_id: callId(part.id), content: resultText(part) };
}

/** Sources and files that the model made have no place in this API's history. */
function encodeModel(message: Message, dialect: Dialect): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => encodeCall(call, dialect));
  if (text === '' && calls.length === 0) return [];
  const own = replayed(text, message.metadata?.[dialect.provider]);
  return [calls.length > 0 ? { role: 'assistant', ...own, tool_calls: calls } : { role: 'assistant', ...own }];
}

function encodeCall({ id, name, arguments: args, providerData }: ToolCallPart, { provider, callId = asItIs }: Dialect): JsonObject {
  const { extra_content } = objectOf(providerData?.[provider]);
  const call = functionCall(callId(id), name, args);
  return extra_content === undefined ? call : { ...call, extra_content };
}

const asItIs = (id: string): string => id;
