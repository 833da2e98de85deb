import type { Attributes } from '@opentelemetry/api';
import type { FinishReason } from '../../core/chunk.js';
import { isRecord, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { Metadata } from '../../core/message.js';
import type { Model, ModelRequest } from '../../core/model.js';
import { plainText } from '../../core/plainText.js';
import type { Usage } from '../../core/usage.js';
import { hideKeys } from '../../protocol/redact.js';
import type { Conventions } from './telemetry.js';

const providers: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  'openai-chat': 'openai',
  xai: 'x_ai',
};

const finishReasons: Readonly<Record<string, string>> = {
  contentFilter: 'content_filter',
  maxTurns: 'max_turns',
  toolCalls: 'tool_call',
};

/** In characters. Longer names are cut. */
const MAX_NAME = 256;

/**
 * Every name and id passes here: one line of bounded length, as exporters keep it and Prometheus has it as a label. A
 * server may repeat a key in it, also split by a control character or longer than the line: both would leave parts.
 */
export const nameText = (text: string, most = MAX_NAME): string =>
  hideKeys(plainText(text))
    .slice(0, most)
    .replace(/[\s\p{Cs}]/gu, ' ');

const nameIn = (table: Readonly<Record<string, string>>, name: string): string =>
  nameText(Object.hasOwn(table, name) ? (table[name] ?? name) : name);

export const modelAttributes = ({ provider, name }: Pick<Model, 'provider' | 'name'>): Attributes => ({
  'gen_ai.provider.name': nameIn(providers, provider),
  'gen_ai.request.model': nameText(name),
});

export const requestAttributes = (request: ModelRequest): Attributes =>
  omitUndefined({
    'gen_ai.request.stream': true,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.top_p': request.topP,
    'gen_ai.request.max_tokens': request.maxOutputTokens,
    'gen_ai.request.stop_sequences': request.stopSequences && [...request.stopSequences],
    'gen_ai.request.seed': request.seed,
    'gen_ai.request.reasoning.level': isRecord(request.thinking) ? request.thinking.effort : undefined,
    'gen_ai.output.type': request.output && 'json',
  });

export function responseAttributes({ responseId, model, answeredBy }: Metadata): Attributes {
  const { provider, name } = objectOrEmpty(answeredBy);
  return {
    ...(typeof provider === 'string' && typeof name === 'string' ? modelAttributes({ provider, name }) : {}),
    ...(typeof responseId === 'string' ? { 'gen_ai.response.id': nameText(responseId) } : {}),
    ...(typeof model === 'string' ? { 'gen_ai.response.model': nameText(model) } : {}),
  };
}

export const finishAttributes = (reason: FinishReason): Attributes => ({
  'gen_ai.response.finish_reasons': [nameIn(finishReasons, reason)],
});

export const usageAttributes = (usage: Usage, conventions: Conventions): Attributes =>
  omitUndefined({
    ...totalAttributes(usage),
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInput,
    [`gen_ai.usage.cache_${conventions === 'latest' ? 'write' : 'creation'}.input_tokens`]: usage.cacheWriteInput,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
  });

export const totalAttributes = ({ input, output }: Usage): Attributes =>
  omitUndefined({ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output });
