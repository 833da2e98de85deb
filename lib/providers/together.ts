import { isJsonObject, omit } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { compatible } from './chatCompletions/compatible.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel } from './httpModel.js';
import type { OpenModelOptions } from './httpModel.js';
import { readOpenText } from './shared/openText.js';

/**
 * An open-weight model, served by Together.
 *
 * ```ts
 * together('meta-llama/Llama-3.3-70B-Instruct-Turbo').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Thinking that is streamed as text in `<think>` tags (Together's guide "DeepSeek R1") is emitted as thinking, unless
 * `thinkTags` is false. If the text of a Llama model consists of calls of offered tools (`<|python_tag|>{...}`), it is
 * emitted as calls, unless `textCalls` is false.
 *
 * @param name The model's name.
 * @param options Key (default: TOGETHER_API_KEY), base URL (default: https://api.together.xyz/v1) and transport.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for a thinking budget (pass an effort).
 */
export function together(name: string, options: OpenModelOptions = {}): Model {
  const { thinkTags = true, textCalls = writesCallsAsText(name), ...transport } = options;
  return httpModel(
    {
      provider: 'together',
      name,
      baseUrl: 'https://api.together.xyz/v1',
      apiKey: { variable: 'TOGETHER_API_KEY', domains: ['api.together.ai'] },
      wire: chatCompletions(name, {
        ...compatible,
        provider: 'together',
        thinking: togetherThinking,
        body: withoutStrict,
      }),
      readText: readOpenText({ thinkTags, textCalls }, 'together'),
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        thinking: true,
        vision: true,
        files: false,
      },
    },
    transport,
  );
}

/**
 * The families that write calls as text: `<|python_tag|>` in Llama 3.1 to 3.3
 * (https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/), `<|python_start|>` in Llama 4
 * (llama4/prompt_format.md of meta-llama/llama-models). Some of Together's names have the older form `Meta-Llama-3.1`.
 */
const textCallFamilies = /^meta-llama\/(?:meta-)?llama-(?:3\.[123]|4)-/i;

const writesCallsAsText = (model: string): boolean => textCallFamilies.test(model);

/**
 * `reasoning.enabled` turns thinking on or off in hybrid models; other models accept the efforts low, medium and high
 * (Together's guide "Reasoning").
 */
function togetherThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { reasoning: { enabled: thinking } };
  return reasoningEffort('together')(thinking.effort === 'minimal' ? { effort: 'low' } : thinking);
}

/**
 * Removes `strict`: Together's grammar compiler rejects strict schemas that other servers accept, and the output
 * follows the schema even without strict mode.
 */
function withoutStrict(body: JsonObject): JsonObject {
  const format = body['response_format'];
  if (!isJsonObject(format) || !isJsonObject(format['json_schema'])) return body;
  return { ...body, response_format: { ...format, json_schema: omit(format['json_schema'], 'strict') } };
}
