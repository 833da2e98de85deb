import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeGoogle } from '../../../lib/providers/google/decode.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { wholeAnswer } from '../wholeAnswer.js';

/** A frame with parts. */
export const frame = (parts: JsonValue, candidate: JsonObject = {}, fields: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...candidate }],
  modelVersion: 'gemini-x',
  responseId: 'r1',
  ...fields,
});

/** A frame with a call. */
export const call = (functionCall: JsonObject, fields: JsonObject = {}): JsonObject =>
  frame([{ functionCall, ...fields }]);

/** The last frame. */
export const stop = frame([], { finishReason: 'STOP' });

export const read = (...frames: readonly JsonObject[]) => wholeAnswer(decodeGoogle, frames);

/** The parts of a response in the next request. */
export const replayed = (...frames: readonly JsonObject[]) => {
  const { message } = read(...frames);
  const { body } = encodeGoogle('gemini-2.5-flash', { messages: [userMessage('Hi'), ...(message ? [message] : [])] });
  return (body['contents'] as readonly JsonObject[])[1]?.['parts'];
};
