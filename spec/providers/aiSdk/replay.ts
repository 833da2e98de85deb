import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelRequest } from 'rivulet';
import { userMessage } from 'rivulet';
import { acme, chunksOf, finish, messageOf, question, season, start } from './acme.js';

const request: ModelRequest = { ...question, tools: [season] };

/** The parts of a text. */
export const textParts = (id: string, delta: string, metadata = {}): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id, ...metadata },
  { type: 'text-delta', id, delta },
  { type: 'text-end', id },
];

const search = { toolCallId: 'w1', toolName: 'web_search' };

/** A call that the provider runs, and its result. */
export const searchParts: LanguageModelV4StreamPart[] = [
  { type: 'tool-call', ...search, input: '{}', providerExecuted: true },
  { type: 'tool-result', ...search, result: [1] },
];

/** `searchParts` in the next prompt. */
export const replayedSearch = [
  { type: 'tool-call', ...search, input: {}, providerExecuted: true },
  { type: 'tool-result', ...search, output: { type: 'json', value: [1] } },
];

/** The content of the model's message in the request after a response of these parts. */
export async function replayed(...parts: LanguageModelV4StreamPart[]) {
  const message = await messageOf(acme([...parts, finish()]).model, request);
  const next = acme([start, finish()]);
  await chunksOf(next.model, { messages: [...question.messages, message, userMessage('Go on.')] });
  return next.asked[0]?.prompt[1]?.content;
}
