import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message, Part } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { isReasoningModel } from '../../../lib/providers/openaiResponses/models.js';

export const hello = userMessage('Hello');

/** The body of a request without a session. */
export const body = (request: Partial<ModelRequest>, model = 'gpt-4o', store?: boolean) =>
  encodeResponses(
    model,
    { messages: [hello], ...request },
    { store, reasoning: isReasoningModel(model), session: false },
  ).body;

/** The input items of a conversation without a session. */
export const input = (messages: readonly Message[], store?: boolean) => body({ messages }, 'gpt-4o', store)['input'];

/** The item of a user's text. */
export const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
/** The item of a model's text. */
export const assistant = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

export const text = (content: string): Part => ({ type: 'text', text: content });
export const call = (id: string, itemId?: string): Part => ({
  type: 'toolCall',
  id,
  name: 'look',
  arguments: { at: 'sky' },
  ...(itemId === undefined ? {} : { providerData: { 'openai-responses': { id: itemId } } }),
});
export const result = (id: string): Message => userMessage([{ type: 'toolResult', id, name: 'look', result: 'blue' }]);
/** A message of this provider with stored items. */
export const response = (parts: readonly Part[], output: readonly JsonObject[]): Message => ({
  ...modelMessage(parts),
  metadata: { 'openai-responses': { responseId: 'resp_1', output } },
});
export const reasoning = (id: string, encrypted?: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [],
  ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
});
