import { sse } from '../../protocol/sse.js';
import type { Wire } from '../../protocol/wire.js';
import { decodeChatCompletions } from './decode.js';
import type { Dialect } from './dialect.js';
import { createEncoders, encodeChatCompletions } from './encode.js';
import { placeResultFile } from './messages.js';

export function chatCompletions(model: string, dialect: Dialect): Wire {
  const encoders = createEncoders(dialect);
  return {
    framing: sse,
    contextLengthPatterns: dialect.contextLengthPatterns,
    encode: (request) => encodeChatCompletions(model, request, dialect, encoders),
    decode: (emit) => decodeChatCompletions(dialect, emit),
    resultFile: (file) => placeResultFile(model, file, dialect),
  };
}
