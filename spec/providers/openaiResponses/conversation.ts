import type { JsonObject } from '../../../lib/core/json/json.js';
import { messageText, modelMessage, userMessage } from '../../../lib/core/message.js';
import { providerDataOf } from '../../../lib/core/providerPart.js';
import type { Message, Part } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { isReasoningModel } from '../../../lib/providers/openaiResponses/models.js';

export const hello = userMessage('Hello');

/** The body of a request without a session, whose response is stored unless `store` is false. */
export const body = (request: Partial<ModelRequest>, model = 'gpt-4o', store = true) =>
  encodeResponses(
    model,
    { messages: [hello], ...request },
    { store, reasoning: isReasoningModel(model), session: false },
  ).body;

/** The input items of a conversation without a session. */
export const input = (messages: readonly Message[], store = true) => body({ messages }, 'gpt-4o', store)['input'];

/** The item of a user's text. */
export const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
/** The item of a model's text. */
export const assistant = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

export const text = (content: string): Part => ({ type: 'text', text: content });
export const call = (id: string, itemId?: string, fields: JsonObject = {}): Part => ({
  type: 'toolCall',
  id,
  name: 'look',
  arguments: { at: 'sky' },
  ...(itemId === undefined ? {} : { providerData: { openai: { id: itemId, ...fields } } }),
});
export const result = (id: string): Message => userMessage([{ type: 'toolResult', id, name: 'look', result: 'blue' }]);
/** A part for this provider: an item, or the beginning of a message. */
export const own = (data: JsonObject): Part => ({ type: 'provider', provider: 'openai', data });

/** The parts of a text of this provider. */
export const written = (id: string, content: string, fields: JsonObject = {}): readonly Part[] => [
  own({ type: 'message', id, ...fields }),
  text(content),
];

/** A message of this provider, with the end of its response. */
export function response(parts: readonly Part[], id = 'resp_1', end: JsonObject = {}): Message {
  const textLength = messageText({ parts }).length;
  return modelMessage([...parts, own({ type: 'response', id, textLength, ...end })]);
}

/** What a message of this provider has for it, without the end of the response. */
export const itemsOf = (message: Message | undefined): readonly JsonObject[] =>
  message ? providerDataOf(message, 'openai').filter(({ type }) => type !== 'response') : [];

export const reasoning = (id: string, encrypted?: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [],
  ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
});
