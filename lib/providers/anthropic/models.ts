import { optionsError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, type JsonObject } from '../../core/json/json.js';
import type { ModelRequest, ThinkingEffort } from '../../core/model.js';
import { lookUpEffort } from '../shared/thinkingEffort.js';

interface Family {
  readonly maxTokens: number;
  /** `budget`: with a maximum number of tokens; `adaptive`: the model decides how long, guided by an effort. */
  readonly thinking: 'none' | 'budget' | 'adaptive';
  /** The type of `thinking` that switches it off as far as possible. Default: `disabled`. */
  readonly noThinking?: 'between_tools' | 'impossible';
  readonly acceptsBudget?: true;
  readonly efforts?: Readonly<Partial<Record<ThinkingEffort, string>>>;
  /** `output_config.format`. */
  readonly typedOutput: boolean;
  readonly refusesForcedTools?: true;
  readonly refusesSampling?: true;
  readonly isUnknown?: true;
}

/** The API's effort for each effort. The API has no `minimal`. */
const allEfforts = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' } as const;
const effortsWithoutXhigh = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' } as const;

/** The first match counts; gateways write dots. Sources: "Models overview", "Effort", "Structured outputs". */
const families: readonly (readonly [RegExp, Partial<Family>])[] = [
  [/claude-(3-(opus|sonnet|haiku)|2|instant)/, { maxTokens: 4096, thinking: 'none', typedOutput: false }],
  [/claude-3-5/, { maxTokens: 8192, thinking: 'none', typedOutput: false }],
  [/claude-3-7/, { maxTokens: 64000, thinking: 'budget', typedOutput: false }],
  [/claude-opus-4-1(?!\d)/, { maxTokens: 32000, thinking: 'budget' }],
  [/claude-(opus|sonnet|haiku)-4-5/, { maxTokens: 64000, thinking: 'budget' }],
  [/claude-opus-4-6/, { acceptsBudget: true, efforts: effortsWithoutXhigh }],
  [/claude-sonnet-4-6/, { maxTokens: 64000, acceptsBudget: true, efforts: effortsWithoutXhigh }],
  [/claude-opus-4-[7-9]/, { refusesSampling: true }],
  [/claude-opus-4/, { maxTokens: 32000, thinking: 'budget', typedOutput: false }],
  [/claude-(sonnet|haiku)-4/, { maxTokens: 64000, thinking: 'budget', typedOutput: false }],
  [/claude-mythos-preview/, { noThinking: 'impossible', efforts: effortsWithoutXhigh, refusesSampling: true }],
  [
    /claude-(opus-5-5|(fable|mythos)-\d+-\d)/,
    { noThinking: 'impossible', refusesForcedTools: true, refusesSampling: true },
  ],
  [/claude-(fable|mythos)/, { noThinking: 'impossible', refusesSampling: true }],
  [/claude-sonnet-5-5/, { noThinking: 'between_tools', refusesForcedTools: true, refusesSampling: true }],
  [/claude-(opus-5|sonnet-5|haiku-5-5)/, { refusesSampling: true }],
  [/claude-[a-z]+-\d/, {}],
];

const newestFamily: Family = { maxTokens: 128000, thinking: 'adaptive', typedOutput: true };

/** Unknown models run on compatible servers, which accept this limit and control thinking with a budget. */
const otherFamily: Partial<Family> = { maxTokens: 4096, thinking: 'budget', isUnknown: true };

export function findFamily(model: string): Family {
  const name = model.toLowerCase().replaceAll('.', '-');
  return { ...newestFamily, ...(families.find(([pattern]) => pattern.test(name))?.[1] ?? otherFamily) };
}

interface ThinkingFields {
  readonly max_tokens: number;
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

/** The smallest budget that the API accepts (Messages API reference, `thinking.budget_tokens`). */
const MIN_BUDGET = 1024;

const LARGE_BUDGET = 32_000;

const budgetsByEffort = { minimal: MIN_BUDGET, low: 4096, medium: 10_000, high: 24_000 } as const;

/** `display` is set because the newest models omit the summary of their thinking by default. */
const adaptiveThinking: JsonObject = { type: 'adaptive', display: 'summarized' };

/** "Adaptive thinking", "Extended thinking", "Effort". `true` is a medium budget, where one is needed. */
export function encodeThinking(model: string, { thinking, maxOutputTokens }: ModelRequest): ThinkingFields {
  const family = findFamily(model);
  const max_tokens = maxOutputTokens ?? family.maxTokens;
  if (thinking === undefined) return { max_tokens };
  if (thinking === false) {
    const { noThinking = 'disabled' } = family;
    if (noThinking === 'impossible')
      throw unsupported(model, 'always thinks', "Pass thinking: { effort: 'low' }, or omit thinking.");
    return family.thinking === 'none' ? { max_tokens } : { max_tokens, thinking: { type: noThinking } };
  }
  if (family.thinking === 'none')
    throw unsupported(
      model,
      'does not think',
      'Omit thinking, or use a model that thinks: claude-3-7-sonnet or later.',
    );
  const { effort, budget } = thinking === true ? {} : thinking;
  // Nothing is known of a model of another vendor: its server decides about an effort that has no budget.
  if (family.isUnknown && budget === undefined && (effort === 'xhigh' || effort === 'max'))
    return { ...encodeBudget(model, LARGE_BUDGET, maxOutputTokens === undefined, maxOutputTokens), effort };
  if (family.thinking === 'budget')
    return encodeBudget(
      model,
      budget ?? lookUpEffort(model, effort ?? 'medium', budgetsByEffort),
      budget !== undefined,
      maxOutputTokens,
    );
  if (budget === undefined)
    return {
      max_tokens,
      thinking: adaptiveThinking,
      ...omitUndefined({ effort: effort && lookUpEffort(model, effort, family.efforts ?? allEfforts) }),
    };
  if (family.acceptsBudget) return encodeBudget(model, budget, true, maxOutputTokens);
  const problem = `does not support a thinking budget (${budget} tokens)`;
  throw unsupported(model, problem, "Pass an effort: thinking: { effort: 'low' }.");
}

function encodeBudget(model: string, budget: number, isExplicit: boolean, limit: number | undefined): ThinkingFields {
  const max_tokens = limit ?? Math.max(findFamily(model).maxTokens, budget + MIN_BUDGET);
  const budget_tokens = isExplicit ? budget : Math.max(MIN_BUDGET, Math.min(budget, Math.floor(max_tokens / 2)));
  if (budget_tokens < MIN_BUDGET || budget_tokens >= max_tokens) {
    const problem =
      `requires a thinking budget of at least ${MIN_BUDGET} tokens and less than the response's limit ` +
      `(budget: ${budget_tokens}, limit: ${max_tokens})`;
    throw unsupported(model, problem, 'Change thinking.budget or maxOutputTokens: thinking counts towards the limit.');
  }
  return { max_tokens, thinking: { type: 'enabled', budget_tokens } };
}

/** @throws ConfigurationError `options` for what the family refuses with status 400. */
export function rejectRefusedSettings(
  model: string,
  { tools = [], toolChoice, temperature, topP }: ModelRequest,
): void {
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (!isForced && temperature === undefined && topP === undefined) return; // nearly always: the family is not needed
  const { refusesForcedTools, refusesSampling } = findFamily(model);
  if (refusesForcedTools && isForced && tools.length > 0)
    throw unsupported(model, 'does not accept a forced tool choice', "Pass toolChoice: 'auto', and ask for the tool.");
  if (!refusesSampling) return;
  for (const [setting, value] of Object.entries({ temperature, topP }))
    if (value !== undefined && value !== 1)
      throw unsupported(model, `does not accept ${setting} (${value})`, `Omit ${setting}.`);
}

const unsupported = (model: string, problem: string, nextStep: string) =>
  optionsError(`${model} ${problem}.`, nextStep);

/** After calls without thinking, a budget is refused: "must start with a thinking block" (400). */
export function withoutRejectedThinking(
  fields: ThinkingFields,
  messages: readonly JsonObject[],
): Omit<ThinkingFields, 'thinking'> {
  const { thinking, ...others } = fields;
  return thinking?.['type'] === 'enabled' && lacksThinkingInLastRound(messages) ? others : fields;
}

function lacksThinkingInLastRound(messages: readonly JsonObject[]): boolean {
  let resultMessages = 0;
  for (const { role, content } of [...messages].reverse()) {
    const blocks = asArray(content).filter(isJsonObject);
    if (role === 'user' && !blocks.some(({ type }) => type === 'tool_result')) break;
    if (role === 'user') resultMessages += 1;
    else if (resultMessages === 0 || isThinkingBlock(blocks[0]?.['type'])) return false;
  }
  return resultMessages > 0;
}

export const isThinkingBlock = (type: unknown): boolean => type === 'thinking' || type === 'redacted_thinking';
