import { ConfigurationError } from '../../core/errors.js';
import { defined, isJsonObject, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import type { Request } from '../../core/model.js';
import { listOf } from '../shared/values.js';
import { familyOf } from './families.js';

/** The fields of a request that depend on how the model thinks. */
export interface ThinkingFields {
  readonly max_tokens: number;
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

type Effort = 'minimal' | 'low' | 'medium' | 'high';

/** The smallest budget that the API takes (Messages API reference, `thinking.budget_tokens`). */
const least = 1024;
/** Budgets for families that take no effort. */
const budgets: Readonly<Record<Effort, number>> = { minimal: least, low: 4096, medium: 10_000, high: 24_000 };
/** The API knows no `minimal`. */
const efforts: Readonly<Record<Effort, string>> = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' };

/**
 * How much the model may think and write (platform.claude.com, "Adaptive thinking", "Extended thinking", "Effort").
 *
 * `true` is a medium budget for models that take one, otherwise the model's own choice. Summaries of the thinking are asked for by name, since the
 * newest models leave them out by default.
 *
 * @throws ConfigurationError `options` for a wish that the model's family cannot be told.
 */
export function thinkingFields(model: string, { thinking, maxOutputTokens }: Request): ThinkingFields {
  const family = familyOf(model);
  const max_tokens = maxOutputTokens ?? family.maxTokens;
  if (thinking === undefined) return { max_tokens };
  if (thinking === false) {
    if (family.thinking === 'always') throw cannot(model, 'thinks always', "Pass thinking: { effort: 'low' }, or leave it out.");
    return family.thinking === 'none' ? { max_tokens } : { max_tokens, thinking: { type: 'disabled' } };
  }
  if (family.thinking === 'none')
    throw cannot(model, 'does not think', 'Leave thinking out, or use a model that does: claude-3-7-sonnet and later.');
  const { effort, budget } = thinking === true ? {} : thinking;
  if (family.thinking === 'budget') return withBudget(model, budget ?? budgets[effort ?? 'medium'], budget !== undefined, maxOutputTokens);
  if (budget === undefined) return { max_tokens, thinking: adaptive, ...defined({ effort: effort && efforts[effort] }) };
  if (family.budgets) return withBudget(model, budget, true, maxOutputTokens);
  throw cannot(model, `takes no budget for thinking (${budget} tokens)`, "Pass an effort: thinking: { effort: 'low' }.");
}

const adaptive: JsonObject = { type: 'adaptive', display: 'summarized' };

/**
 * The fields without a budget for thinking, where the API would refuse it: the last calls were answered, and no message of the model in that round
 * starts with thinking (400, "When `thinking` is enabled, a final `assistant` message must start with a thinking block"). Such calls are another
 * provider's, or were made without thinking; the next question is thought about again. Adaptive thinking is taken with any history.
 *
 * @param fields What was asked for.
 * @param messages The conversation as the API has it.
 */
export function thinkingBehind<F extends { readonly thinking?: JsonObject }>(
  fields: F,
  messages: readonly JsonObject[],
): Omit<F, 'thinking'> {
  const { thinking, ...rest } = fields;
  return thinking?.['type'] === 'enabled' && isUnthoughtRound(messages) ? rest : fields;
}

function isUnthoughtRound(messages: readonly JsonObject[]): boolean {
  const blocksOf = (message: JsonObject) => listOf(message['content']).filter(isJsonObject);
  let rounds = 0;
  for (const message of [...messages].reverse()) {
    const blocks = blocksOf(message);
    if (message['role'] === 'user' && !blocks.some(({ type }) => type === 'tool_result')) break;
    if (message['role'] === 'user') rounds += 1;
    else if (rounds === 0 || /^(redacted_)?thinking$/.test(textOf(blocks[0]?.['type']) ?? '')) return false;
  }
  return rounds > 0;
}

/** A budget is at least 1024 and below the limit. One that was not asked for in tokens gives way to a small limit. */
function withBudget(model: string, wanted: number, asked: boolean, limit: number | undefined): ThinkingFields {
  const max_tokens = limit ?? Math.max(familyOf(model).maxTokens, wanted + least);
  const budget_tokens = asked ? wanted : Math.max(least, Math.min(wanted, Math.floor(max_tokens / 2)));
  if (budget_tokens < least || budget_tokens >= max_tokens) {
    const what = `needs a budget for thinking of at least ${least} tokens and less than the answer's limit: ${budget_tokens} of ${max_tokens}`;
    throw cannot(model, what, 'Change thinking.budget or maxOutputTokens: thinking counts towards the limit.');
  }
  return { max_tokens, thinking: { type: 'enabled', budget_tokens } };
}

const cannot = (model: string, what: string, next: string) => new ConfigurationError('options', `${model} ${what}.`, next);
