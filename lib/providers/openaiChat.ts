import type { JsonObject } from '../core/json/json.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel, type ModelOptions } from './httpModel.js';
import { allCapabilities } from './shared/capabilityTable.js';
import { shortCallId } from './shared/callIds.js';
import { checkOpenAiEffort, checkOpenAiNoThinking } from './shared/openaiEfforts.js';

/**
 * An OpenAI model, used through the Chat Completions API.
 *
 * ```ts
 * openaiChat('gpt-6.1-terra').stream({ messages: [userMessage('Name a river.')], thinking: false });
 * ```
 *
 * Through this API, OpenAI's models do not send their thinking, and the newest ones accept tools only with
 * `thinking: false`: prefer `openai`. It supports `seed`, `stopSequences` and audio models, which `openai` does not.
 * Pass other fields of the API in `providerOptions['openai-chat']`. For another server that implements the API, use
 * `openaiCompatible`: many servers expect their reasoning back, which this model does not send.
 *
 * @param name The model's name.
 * @param options Key (default: OPENAI_API_KEY), base URL (default: https://api.openai.com/v1) and transport.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for a thinking budget (pass an effort), for an effort that the model is known not to
 * have (Chat Completions has no `max`), and for files by URL other than images (pass the bytes).
 */
export function openaiChat(name: string, options: ModelOptions = {}): Model {
  return createOpenaiChat(name, options);
}

/** `parts` are from `compatible`: a bundle with `openaiChat` alone does not have them. */
export function createOpenaiChat(name: string, options: ModelOptions, parts: Partial<Dialect> = {}): Model {
  return httpModel(
    {
      provider: 'openai-chat',
      name,
      baseUrl: 'https://api.openai.com/v1',
      apiKey: { variable: 'OPENAI_API_KEY' },
      wire: chatCompletions(name, {
        ...parts,
        provider: 'openai-chat',
        maxTokens: 'max_completion_tokens',
        thinking: (thinking) => openaiThinking(name, thinking),
        callId: shortCallId,
      }),
      capabilities: allCapabilities,
    },
    options,
  );
}

function openaiThinking(model: string, thinking: Thinking): JsonObject {
  if (thinking === false) checkOpenAiNoThinking('openai-chat', model);
  if (typeof thinking === 'object' && thinking.effort !== undefined)
    checkOpenAiEffort('openai-chat', model, thinking.effort);
  return reasoningEffort('openai-chat')(thinking);
}
