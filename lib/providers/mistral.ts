import { ConfigurationError } from '../core/errors.js';
import { omitUndefined, isJsonObject, asArray } from '../core/json/json.js';
import type { JsonObject, JsonValue } from '../core/json/json.js';
import type { FilePart } from '../core/message.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { reasoningEffort } from './chatCompletions/encode.js';
import { httpModel } from './httpModel.js';
import type { ModelOptions } from './httpModel.js';
import { mistralCallId } from './shared/callIds.js';
import { dataUrl } from './shared/files.js';

/**
 * A model of Mistral.
 *
 * ```ts
 * mistral('mistral-small-latest').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * Thinking goes back with the message it came with, in its place: Mistral says that dropping it makes its models worse. Fields that have no place in a request
 * (`safe_prompt`, `prompt_mode`, `guardrails`) go in its `providerOptions`, under `mistral`.
 *
 * @param name The model's name.
 * @param options Key (default: MISTRAL_API_KEY), base URL (default: https://api.mistral.ai/v1) and transport.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for a budget for thinking (give an
 * effort), and for a Magistral model that is told how much to think.
 */
export function mistral(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'mistral',
      name,
      baseUrl: 'https://api.mistral.ai/v1',
      apiKey: { variable: 'MISTRAL_API_KEY' },
      wire: chatCompletions(name, mistralDialect(name)),
      capabilities: { tools: true, multiToolCalls: true, typedOutput: true, thinking: true, vision: true, files: true },
    },
    options,
  );
}

/** Where Mistral's API differs from OpenAI's, by its API reference ("Chat Completion") and its guides. */
export function mistralDialect(model: string): Dialect {
  return {
    provider: 'mistral',
    streamUsage: false, // refused as an unknown field; usage comes with the finish anyway
    callId: mistralCallId,
    file: mistralFile,
    thinking: (thinking) => mistralThinking(model, thinking),
    body: mistralBody,
  };
}

/** Magistral always thinks. The others think when asked to: `high` is the one effort that all of them take (guide "Reasoning"). */
function mistralThinking(model: string, thinking: Thinking): JsonObject {
  if (!/^magistral/i.test(model))
    return thinking === true ? { reasoning_effort: 'high' } : reasoningEffort('mistral')(thinking);
  if (thinking === true) return {};
  throw new ConfigurationError(
    'options',
    `${model} always thinks, and takes neither an effort nor a budget.`,
    "Leave thinking out, or use a model that takes an effort: mistral('mistral-small-latest').",
  );
}

/** Images, sound and documents go by their address, or as bytes: the guides "Vision", "Audio & Transcription" and "Document QnA". */
function mistralFile(file: FilePart): JsonObject | undefined {
  const { mediaType, url, data, name } = file;
  const at = url ?? dataUrl(file);
  if (/^image\//i.test(mediaType)) return { type: 'image_url', image_url: at };
  if (/^audio\//i.test(mediaType)) return { type: 'input_audio', input_audio: url ?? data };
  if (url === undefined && !/^application\/(pdf|vnd\.)/i.test(mediaType)) return undefined; // texts go as text
  return omitUndefined({ type: 'document_url', document_url: at, document_name: name });
}

/** Its own names for the seed and for a call that has to be made. */
function mistralBody(body: JsonObject): JsonObject {
  const { seed, tool_choice: choice, messages, ...rest } = body;
  return omitUndefined({
    ...rest,
    messages: inOrder(asArray(messages).filter(isJsonObject)),
    tool_choice: choice === 'required' ? 'any' : choice,
    random_seed: seed,
  });
}

/**
 * The order that Mistral insists on. Results are answered by the model before the user speaks again ("Unexpected role 'user' after role 'tool'",
 * code 3230): a history that goes on without has a short answer put in. A conversation that ends with the model's own words asks it to go on from
 * them, by `prefix` ("Expected last role User or Tool (or Assistant with prefix True)").
 */
function inOrder(messages: readonly JsonObject[]): JsonValue {
  return messages.flatMap((message, at) => {
    if (message['role'] === 'user' && messages[at - 1]?.['role'] === 'tool')
      return [{ role: 'assistant', content: 'OK' }, message];
    return message['role'] === 'assistant' && at === messages.length - 1 ? [{ ...message, prefix: true }] : [message];
  });
}
