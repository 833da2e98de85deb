import { isJsonObject, textOf } from '../../../core/json.js';
import type { JsonObject } from '../../../core/json.js';
import type { Refusal } from './dialect.js';
import { variant, withChoice } from './variant.js';

/**
 * Mistral's chat, at `/mistral/v1/chat/completions`: whole calls, thinking as parts of `content`, usage with the finish; and what it refuses, in the words
 * that bug reports quote: fields it does not know, ids that are not nine letters and digits, roles out of order.
 */
export const mistral = variant({
  bases: { mistral: '/mistral/v1' },
  serves: (path) => path.endsWith('/mistral/v1/chat/completions'),
  refusal,
  usageWithFinish: true,
  chunk: (chunk) =>
    chunk.type === 'toolCallFragment' && isJsonObject(chunk.arguments) ? { ...chunk, arguments: JSON.stringify(chunk.arguments) } : chunk,
  frame: (frame) => {
    const { usage, ...rest } = frame;
    const told = isJsonObject(usage) ? { ...rest, usage } : rest;
    return Array.isArray(frame['choices']) ? withChoice(told, (choice, delta) => ({ ...choice, delta: thinking(delta) })) : told;
  },
});

function thinking({ reasoning_content: text, ...rest }: JsonObject): JsonObject {
  return text === undefined ? rest : { ...rest, content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
}

function refusal(body: JsonObject): Refusal | undefined {
  const unknown = ['stream_options', 'seed', 'max_completion_tokens'].find((field) => body[field] !== undefined);
  if (unknown) return { status: 422, type: 'invalid_request_error', message: `Extra inputs are not permitted: body.${unknown}` };
  const messages = Array.isArray(body['messages']) ? body['messages'].filter(isJsonObject) : [];
  const bad = messages.flatMap(idsIn).find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  if (bad !== undefined) return refused(`Tool call id was ${bad} but must be a-z, A-Z, 0-9, with a length of 9.`, '3280');
  const early = messages.some(({ role }, at) => role === 'user' && messages[at - 1]?.['role'] === 'tool');
  if (early) return refused("Unexpected role 'user' after role 'tool'", '3230');
  const last = messages.at(-1);
  return last?.['role'] === 'assistant' && last['prefix'] !== true
    ? refused('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant', '3230')
    : undefined;
}

const refused = (message: string, code: string): Refusal => ({ status: 400, type: 'invalid_request_message_order', message, code });

function idsIn(message: JsonObject): readonly string[] {
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isJsonObject) : [];
  return [...calls.map(({ id }) => id), message['tool_call_id']].flatMap((id) => textOf(id) ?? []);
}
