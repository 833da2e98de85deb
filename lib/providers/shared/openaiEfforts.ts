import type { ThinkingEffort } from '../../core/model.js';
import { lookUpEffort } from './thinkingEffort.js';

/** The levels of a family of models. */
interface EffortFamily {
  /** Matches the names of the models, without a date. */
  readonly models: RegExp;
  readonly efforts: readonly ThinkingEffort[];
}

/**
 * The levels that OpenAI's API reports for models that reject others ("Unsupported value: 'minimal' is not supported
 * with the 'gpt-5.6-luna' model. Supported values are: ..."), and its reference (`reasoning_effort`). The SDK refers to
 * the guide "Reasoning" for the levels of a model, so a model that is not listed here is sent every level of the API.
 * `none` is not a level here: it disables thinking.
 */
const families: readonly EffortFamily[] = [
  { models: /^o(1|3|3-mini|4-mini)$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5(-mini|-nano)?$/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-5-pro$/, efforts: ['high'] },
  { models: /^gpt-5(\.1)?-codex$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5\.1$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5\.[2-5](-mini|-nano)?$/, efforts: ['low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-5\.6-(sol|terra|luna)$/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-6-astra$/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
];

/**
 * Checks that a model of OpenAI has a level of thinking.
 *
 * @param provider The provider, for the error.
 * @param model The model's name. Fine-tunes (`ft:o4-mini:...`), gateways (`openai/gpt-5`) and dates are recognized.
 * @param effort The requested level.
 * @returns The level.
 * @throws ConfigurationError `options` if the model is known not to have the level.
 */
export function checkOpenAiEffort(provider: string, model: string, effort: ThinkingEffort): ThinkingEffort {
  const name = model
    .replace(/^(ft:|.*\/)/, '')
    .replace(/:.*$/, '')
    .replace(/-\d{4}-\d{2}-\d{2}$/, '');
  const family = families.find(({ models }) => models.test(name));
  if (!family) return effort;
  return lookUpEffort(
    `${provider}:${model}`,
    effort,
    Object.fromEntries(family.efforts.map((level) => [level, level])),
  );
}
