import { isJsonObject, omit } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel } from './httpModel.js';
import type { ModelOptions } from './httpModel.js';

/**
 * An open model, by Together.
 *
 * ```ts
 * together('meta-llama/Llama-3.3-70B-Instruct-Turbo').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Calls that a Llama model writes as text (`<|python_tag|>{...}`) come out as calls. Thinking that is streamed as text, in `<think>` tags (its
 * guide "DeepSeek R1"), comes out as thinking, unless `thinkTags: false` is passed.
 *
 * @param name The model's name.
 * @param options Key (default: TOGETHER_API_KEY), base URL (default: https://api.together.xyz/v1) and transport.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for a budget for thinking (give an
 * effort).
 */
export function together(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'together',
      name,
      baseUrl: 'https://api.together.xyz/v1',
      apiKey: { variable: 'TOGETHER_API_KEY' },
      wire: chatCompletions(name, { provider: 'together', thinking: togetherThinking, body: withoutStrict }),
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        thinking: true,
        vision: true,
        files: false,
      },
    },
    { ...options, thinkTags: options.thinkTags ?? true },
  );
}

/** Hybrid models are switched by `reasoning.enabled`, others take an effort of low, medium or high (its guide "Reasoning"). */
function togetherThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { reasoning: { enabled: thinking } };
  return reasoningEffort('together')(thinking.effort === 'minimal' ? { effort: 'low' } : thinking);
}

/** Its grammar compiler refuses schemas in strict mode that others take; an answer follows the schema without. */
function withoutStrict(body: JsonObject): JsonObject {
  const format = body['response_format'];
  if (!isJsonObject(format) || !isJsonObject(format['json_schema'])) return body;
  return { ...body, response_format: { ...format, json_schema: omit(format['json_schema'], 'strict') } };
}
