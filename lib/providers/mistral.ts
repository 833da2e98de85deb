import { optionsError } from '../core/errors.js';
import { asArray, isJsonObject, nonEmptyString, omitUndefined } from '../core/json/json.js';
import type { JsonObject, JsonValue } from '../core/json/json.js';
import type { FilePart } from '../core/message.js';
import type { Model, Thinking } from '../core/model.js';
import { storedData } from '../core/providerPart.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { compatible } from './chatCompletions/compatible.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel, type OpenModelOptions } from './httpModel.js';
import { mistralCallId } from './shared/callIds.js';
import { dataUrl } from './shared/files.js';
import { lookUpEffort } from './shared/thinkingEffort.js';
import { readOpenText } from './shared/openText.js';

/**
 * A Mistral model.
 *
 * ```ts
 * mistral('mistral-small-latest').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * Thinking is sent back at its position in the message, because Mistral documents that its models perform worse without
 * it. Pass other fields of the API (`safe_prompt`, `prompt_mode`, `guardrails`) in `providerOptions.mistral`.
 *
 * @param name The model's name.
 * @param options Key (default: MISTRAL_API_KEY), base URL (default: https://api.mistral.ai/v1) and transport.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for a thinking budget (pass an effort), and, with a Magistral model, for any `thinking`
 * other than `true`.
 */
export function mistral(name: string, options: OpenModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'mistral',
      name,
      baseUrl: 'https://api.mistral.ai/v1',
      apiKey: { variable: 'MISTRAL_API_KEY', domains: ['mistral.ai'] }, // regions: api.eu.mistral.ai
      wire: chatCompletions(name, mistralDialect(name)),
      readText: readOpenText(options),
      capabilities: { tools: true, multiToolCalls: true, typedOutput: true, thinking: true, vision: true, files: true },
    },
    options,
  );
}

/** API reference ("Chat Completion") and guides. */
export function mistralDialect(model: string): Dialect {
  return {
    ...compatible,
    provider: 'mistral',
    streamUsage: false, // `stream_options` is rejected as an unknown field; usage always arrives with the finish reason
    callId: mistralCallId,
    wholeCalls: true, // guide "Function calling", on streams: a call is in one chunk
    file: mistralFile,
    resultFiles: true, // `ToolMessage`: its content is a list of `ContentChunk`, as in a user message
    thinking: (thinking) => mistralThinking(model, thinking),
    body: mistralBody,
  };
}

/** Magistral always thinks. Other models accept at least the effort `high` (guide "Reasoning"). */
function mistralThinking(model: string, thinking: Thinking): JsonObject {
  if (!/^magistral/i.test(model)) {
    if (thinking === true) return { reasoning_effort: 'high' };
    if (typeof thinking === 'object' && thinking.effort !== undefined)
      return { reasoning_effort: lookUpEffort('mistral', thinking.effort, efforts) };
    return reasoningEffort('mistral')(thinking);
  }
  if (thinking === true) return {};
  throw optionsError(
    `${model} always thinks, and accepts neither an effort nor a budget.`,
    "Omit thinking, or use a model that accepts an effort: mistral('mistral-small-latest').",
  );
}

const efforts = { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh' } as const;

/** Guides "Vision", "Audio & Transcription", "Document QnA"; a file stored at Mistral by id (`FileChunk`). */
function mistralFile(file: FilePart): JsonObject | undefined {
  const { mediaType, url, data, name } = file;
  const fileId = nonEmptyString(storedData(file, 'mistral')['file_id']);
  if (fileId !== undefined) return { type: 'file', file_id: fileId };
  const fileUrl = url ?? dataUrl(file);
  if (/^image\//i.test(mediaType)) return { type: 'image_url', image_url: fileUrl };
  if (/^audio\//i.test(mediaType)) return { type: 'input_audio', input_audio: url ?? data };
  const isDocument = url !== undefined || /^application\/(pdf|vnd\.)/i.test(mediaType);
  if (!isDocument) return undefined;
  return omitUndefined({ type: 'document_url', document_url: fileUrl, document_name: name });
}

/** Mistral's names for the seed and for a required call, and its order of messages. */
function mistralBody(body: JsonObject): JsonObject {
  const { seed, tool_choice: toolChoice, messages, ...otherFields } = body;
  return omitUndefined({
    ...otherFields,
    messages: fixOrder(asArray(messages).filter(isJsonObject)),
    tool_choice: toolChoice === 'required' ? 'any' : toolChoice,
    random_seed: seed,
  });
}

/** Mistral rejects a user message after results (code 3230), and an assistant message at the end without `prefix`. */
function fixOrder(messages: readonly JsonObject[]): JsonValue {
  return messages.flatMap((message, index) => {
    const isLast = index === messages.length - 1;
    if (message['role'] === 'assistant' && isLast) return [{ ...message, prefix: true }];
    if (message['role'] === 'user' && messages[index - 1]?.['role'] === 'tool')
      return [{ role: 'assistant', content: 'OK' }, message];
    return [message];
  });
}
