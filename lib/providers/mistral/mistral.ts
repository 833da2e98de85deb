import type { Model } from '../../core/model.js';
import { chatCompletions } from '../chatCompletions/chatCompletions.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { mistralDialect } from './dialect.js';

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
