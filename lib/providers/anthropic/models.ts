import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Request } from '../../core/model.js';

/** What a family of models supports. */
interface Family {
  /** The longest answer, in tokens, thinking included. */
  readonly maxTokens: number;
  /**
   * How thinking is requested: not at all, by a budget of tokens, or `adaptive`: the model decides, and an effort guides
   * it. `always` is adaptive and cannot be switched off.
   */
  readonly thinking: 'none' | 'budget' | 'adaptive' | 'always';
  /** An adaptive family that still accepts a budget. */
  readonly budgets?: true;
  /** Answers by a JSON Schema (`output_config.format`). */
  readonly typedOutput: boolean;
}

/**
 * Families by the names of their models; the first match is used. Names also come with a prefix or dots
 * (`anthropic/claude-sonnet-4.5` at gateways, `anthropic.claude-opus-4-6-v1` at Bedrock).
 *
 * Sources: "Models overview" (limits; the pages disagree about the 4.6 family: the lower limit is used for Sonnet),
 * "Adaptive thinking" (which models accept a budget, and whose thinking cannot be switched off) and "Structured outputs"
 * (from Opus 4.1 and the 4.5 family on) at platform.claude.com.
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

/** The models of compatible servers: a limit that all of them accept, and thinking by a budget, as they adopted it. */
const otherFamily: Family = { maxTokens: 4096, thinking: 'budget', typedOutput: true };

/** The family of a model. */
export function findFamily(model: string): Family {
  const name = model.toLowerCase().replaceAll('.', '-');
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? otherFamily;
}

/** The fields of a request that depend on how the model thinks. */
interface ThinkingFields {
  readonly max_tokens: number;
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

type Effort = 'minimal' | 'low' | 'medium' | 'high';

/** The smallest budget that the API accepts (Messages API reference, `thinking.budget_tokens`). */
const minBudget = 1024;

/** Budgets for families that have no effort. */
const budgets: Readonly<Record<Effort, number>> = { minimal: minBudget, low: 4096, medium: 10_000, high: 24_000 };

/** The API does not know `minimal`. */
const efforts: Readonly<Record<Effort, string>> = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' };

/** `display`: the newest models omit the summary of their thinking by default. */
const adaptiveThinking: JsonObject = { type: 'adaptive', display: 'summarized' };

/**
 * Encodes how much the model may think and write (platform.claude.com, "Adaptive thinking", "Extended thinking",
 * "Effort"). `thinking: true` is a medium budget for models that accept one, otherwise the model's own choice.
 *
 * @throws ConfigurationError `options` for a setting that the model's family does not support.
 */
export function encodeThinking(model: string, { thinking, maxOutputTokens }: Request): ThinkingFields {
  const family = findFamily(model);
  const max_tokens = maxOutputTokens ?? family.maxTokens;
  if (thinking === undefined) return { max_tokens };
  if (thinking === false) {
    if (family.thinking === 'always')
      throw unsupported(model, 'always thinks', "Pass thinking: { effort: 'low' }, or omit it.");
    return family.thinking === 'none' ? { max_tokens } : { max_tokens, thinking: { type: 'disabled' } };
  }
  if (family.thinking === 'none')
    throw unsupported(
      model,
      'does not think',
      'Omit thinking, or use a model that thinks: claude-3-7-sonnet and later.',
    );
  const { effort, budget } = thinking === true ? {} : thinking;
  if (family.thinking === 'budget')
    return withBudget(model, budget ?? budgets[effort ?? 'medium'], budget !== undefined, maxOutputTokens);
  if (budget === undefined)
    return { max_tokens, thinking: adaptiveThinking, ...omitUndefined({ effort: effort && efforts[effort] }) };
  if (family.budgets) return withBudget(model, budget, true, maxOutputTokens);
  const problem = `does not support a budget for thinking (${budget} tokens)`;
  throw unsupported(model, problem, "Pass an effort: thinking: { effort: 'low' }.");
}

/**
 * Encodes a budget, which has to be at least 1024 and below the limit of the answer.
 *
 * @param explicit Whether the user asked for this number of tokens. Otherwise it is lowered to fit a small limit.
 */
function withBudget(model: string, budget: number, explicit: boolean, limit: number | undefined): ThinkingFields {
  const max_tokens = limit ?? Math.max(findFamily(model).maxTokens, budget + minBudget);
  const budget_tokens = explicit ? budget : Math.max(minBudget, Math.min(budget, Math.floor(max_tokens / 2)));
  if (budget_tokens < minBudget || budget_tokens >= max_tokens) {
    const problem =
      `requires a budget for thinking of at least ${minBudget} tokens and less than the answer's limit: ` +
      `${budget_tokens} of ${max_tokens}`;
    throw unsupported(model, problem, 'Change thinking.budget or maxOutputTokens: thinking counts towards the limit.');
  }
  return { max_tokens, thinking: { type: 'enabled', budget_tokens } };
}

const unsupported = (model: string, problem: string, next: string) =>
  new ConfigurationError('options', `${model} ${problem}.`, next);

/**
 * Drops the budget for thinking where the API would refuse it: the last calls were answered, and no message of the model
 * in that round starts with thinking (400, "When `thinking` is enabled, a final `assistant` message must start with a
 * thinking block"). Such calls were made by another provider, or without thinking; from the next question on the model
 * thinks again. Adaptive thinking is accepted with any history.
 *
 * @param fields The fields of the request.
 * @param messages The conversation as it is sent.
 */
export function withoutRefusedThinking(
  fields: ThinkingFields,
  messages: readonly JsonObject[],
): Omit<ThinkingFields, 'thinking'> {
  const { thinking, ...others } = fields;
  return thinking?.['type'] === 'enabled' && endsWithUnthoughtRound(messages) ? others : fields;
}

/** Whether the conversation ends with answered calls, before which the model did not think. */
function endsWithUnthoughtRound(messages: readonly JsonObject[]): boolean {
  let rounds = 0;
  for (const { role, content } of [...messages].reverse()) {
    const blocks = asArray(content).filter(isJsonObject);
    if (role === 'user' && !blocks.some(({ type }) => type === 'tool_result')) break;
    if (role === 'user') rounds += 1;
    else if (rounds === 0 || /^(redacted_)?thinking$/.test(nonEmptyString(blocks[0]?.['type']) ?? '')) return false;
  }
  return rounds > 0;
}
