import type { Attributes } from '@opentelemetry/api';
import type { FinishReason } from '../../core/chunk.js';
import { isRecord, omitUndefined } from '../../core/json/json.js';
import type { Metadata } from '../../core/message.js';
import type { Model, ModelRequest } from '../../core/model.js';
import type { Usage } from '../../core/usage.js';
import type { Conventions } from './telemetry.js';

const providers: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  'openai-chat': 'openai',
  xai: 'x_ai',
};

const finishReasons: Partial<Record<FinishReason, string>> = {
  contentFilter: 'content_filter',
  maxTurns: 'max_turns',
  toolCalls: 'tool_call',
};

export const modelAttributes = ({ provider, name }: Pick<Model, 'provider' | 'name'>): Attributes => ({
  'gen_ai.provider.name': providers[provider] ?? provider,
  'gen_ai.request.model': name,
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
  const isAnswer = isRecord(answeredBy) && typeof answeredBy['provider'] === 'string';
  return {
    ...(isAnswer ? modelAttributes(answeredBy as { readonly provider: string; readonly name: string }) : {}),
    ...(typeof responseId === 'string' ? { 'gen_ai.response.id': responseId } : {}),
    ...(typeof model === 'string' ? { 'gen_ai.response.model': model } : {}),
  };
}

export const finishAttributes = (reason: FinishReason): Attributes => ({
  'gen_ai.response.finish_reasons': [finishReasons[reason] ?? reason],
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
