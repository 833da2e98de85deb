import { memoizePerMessage } from '../../protocol/encodeOnce.js';
import type { Wire } from '../../protocol/wire.js';
import { decodeChatCompletions } from './decode.js';
import type { Dialect } from './dialect.js';
import { encodeChatCompletions } from './encode.js';
import { encodeMessage } from './messages.js';

/**
 * The Chat Completions API, which OpenAI made and most servers speak.
 *
 * @param model The model's name, as the server knows it.
 * @param dialect Where the server differs in what it takes.
 */
export function chatCompletions(model: string, dialect: Dialect): Wire {
  const messageOf = memoizePerMessage((message) => encodeMessage(message, dialect));
  return {
    framing: 'sse',
    encode: (request) => encodeChatCompletions(model, request, dialect, messageOf),
    decode: (emit) => decodeChatCompletions(dialect.provider, emit),
  };
}
