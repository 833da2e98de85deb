import { isJsonObject, omit, omitUndefined, type JsonObject } from '../core/json/json.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { compatible } from './chatCompletions/compatible.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel, type OpenModelOptions } from './httpModel.js';
import { allCapabilities } from './shared/capabilityTable.js';
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
  const { thinkTags = true, textCalls = textCallFamilies.test(name), ...transport } = options;
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
      capabilities: omitUndefined({ ...allCapabilities, typedOutputWithTools: undefined, files: false }),
    },
    transport,
  );
}

/** llama.com, model cards (3.1 to 3.3), and llama4/prompt_format.md. Older names begin with `Meta-`. */
const textCallFamilies = /^meta-llama\/(?:meta-)?llama-(?:3\.[123]|4)-/i;

/** Guide "Reasoning": `enabled` for hybrid models; others accept the efforts low, medium and high. */
function togetherThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { reasoning: { enabled: thinking } };
  return reasoningEffort('together')(thinking.effort === 'minimal' ? { effort: 'low' } : thinking);
}

/** Together's grammar compiler rejects strict schemas that others accept; outputs obey without it. */
function withoutStrict(body: JsonObject): JsonObject {
  const format = body['response_format'];
  if (!isJsonObject(format) || !isJsonObject(format['json_schema'])) return body;
  return { ...body, response_format: { ...format, json_schema: omit(format['json_schema'], 'strict') } };
}
