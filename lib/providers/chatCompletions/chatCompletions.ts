import type { Wire } from '../../protocol/wire.js';
import { decodeChatCompletions } from './decode.js';
import type { Dialect } from './dialect.js';
import { encodeChatCompletions } from './encode.js';

/**
 * The Chat Completions API, which OpenAI made and most servers speak.
 *
 * @param model The model's name, as the server knows it.
 * @param dialect Where the server differs in what it takes.
 */
export function chatCompletions(model: string, dialect: Dialect): Wire {
  return {
    framing: 'sse',
    encode: (request) => encodeChatCompletions(model, request, dialect),
    decode: (emit) => decodeChatCompletions(dialect.provider, emit),
  };
}
