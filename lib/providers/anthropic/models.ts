import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Request } from '../../core/model.js';

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
    if (family.thinking === 'always')
      throw cannot(model, 'thinks always', "Pass thinking: { effort: 'low' }, or leave it out.");
    return family.thinking === 'none' ? { max_tokens } : { max_tokens, thinking: { type: 'disabled' } };
  }
  if (family.thinking === 'none')
    throw cannot(model, 'does not think', 'Leave thinking out, or use a model that does: claude-3-7-sonnet and later.');
  const { effort, budget } = thinking === true ? {} : thinking;
  if (family.thinking === 'budget')
    return withBudget(model, budget ?? budgets[effort ?? 'medium'], budget !== undefined, maxOutputTokens);
  if (budget === undefined)
    return { max_tokens, thinking: adaptive, ...omitUndefined({ effort: effort && efforts[effort] }) };
  if (family.budgets) return withBudget(model, budget, true, maxOutputTokens);
  throw cannot(
    model,
    `takes no budget for thinking (${budget} tokens)`,
    "Pass an effort: thinking: { effort: 'low' }.",
  );
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
  const blocksOf = (message: JsonObject) => asArray(message['content']).filter(isJsonObject);
  let rounds = 0;
  for (const message of [...messages].reverse()) {
    const blocks = blocksOf(message);
    if (message['role'] === 'user' && !blocks.some(({ type }) => type === 'tool_result')) break;
    if (message['role'] === 'user') rounds += 1;
    else if (rounds === 0 || /^(redacted_)?thinking$/.test(nonEmptyString(blocks[0]?.['type']) ?? '')) return false;
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

const cannot = (model: string, what: string, next: string) =>
  new ConfigurationError('options', `${model} ${what}.`, next);

/** How a family of models is told to think: not at all, by a budget of tokens, as it sees fit (by an effort), or so and never not. */
export type ThinkingKind = 'none' | 'budget' | 'adaptive' | 'always';

/** What the models of a family have in common, as far as a request depends on it. */
export interface Family {
  /** The longest answer, in tokens, thinking included. */
  readonly maxTokens: number;
  readonly thinking: ThinkingKind;
  /** An adaptive family that still takes a budget. */
  readonly budgets?: true;
  /** Answers by a JSON Schema (`output_config.format`). */
  readonly typedOutput: boolean;
}

/**
 * Families by the names of their models, the first that fits. Names also come with a prefix or dots (`anthropic/claude-sonnet-4.5` at gateways,
 * `anthropic.claude-opus-4-6-v1` at Bedrock).
 *
 * Sources: "Models overview" (limits; of the 4.6 family the pages disagree, the lower limit is taken for Sonnet), "Adaptive thinking" (who takes
 * a budget, whose thinking cannot be switched off) and "Structured outputs" (from 4.1 Opus and the 4.5 family on) at platform.claude.com.
 */
const families: readonly (readonly [RegExp, Family])[] = [
  [/claude-(3-(opus|sonnet|haiku)|2|instant)/, { maxTokens: 4096, thinking: 'none', typedOutput: false }],
  [/claude-3-5/, { maxTokens: 8192, thinking: 'none', typedOutput: false }],
  [/claude-3-7/, { maxTokens: 64000, thinking: 'budget', typedOutput: false }],
  [/claude-opus-4-1(?!\d)/, { maxTokens: 32000, thinking: 'budget', typedOutput: true }],
  [/claude-(opus|sonnet|haiku)-4-5/, { maxTokens: 64000, thinking: 'budget', typedOutput: true }],
  [/claude-opus-4-6/, { maxTokens: 128000, thinking: 'adaptive', budgets: true, typedOutput: true }],
  [/claude-sonnet-4-6/, { maxTokens: 64000, thinking: 'adaptive', budgets: true, typedOutput: true }],
  [/claude-opus-4-[7-9]/, { maxTokens: 128000, thinking: 'adaptive', typedOutput: true }],
  [/claude-opus-4/, { maxTokens: 32000, thinking: 'budget', typedOutput: false }],
  [/claude-(sonnet|haiku)-4/, { maxTokens: 64000, thinking: 'budget', typedOutput: false }],
  [/claude-(fable|mythos|opus-5-5)/, { maxTokens: 128000, thinking: 'always', typedOutput: true }],
  [/claude-[a-z]+-\d/, { maxTokens: 128000, thinking: 'adaptive', typedOutput: true }],
];

/** Of other servers' models behind the same API: a limit that none refuses, and thinking in the form that they took over. */
const unknown: Family = { maxTokens: 4096, thinking: 'budget', typedOutput: true };

/** The family of a model. */
export function familyOf(model: string): Family {
  const name = model.toLowerCase().replaceAll('.', '-');
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? unknown;
}
