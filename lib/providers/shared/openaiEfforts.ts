import { capabilityError } from '../../core/errors.js';
import type { ThinkingEffort } from '../../core/model.js';
import { lookUpEffort } from './thinkingEffort.js';

interface EffortFamily {
  readonly models: RegExp;
  readonly efforts: readonly ThinkingEffort[];
  readonly alwaysThinks?: true;
}

const lowToMax: readonly ThinkingEffort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** From the API's errors and reference. Unlisted models get all; Chat rejects `max` (BerriAI/litellm-docs#1173). */
const families: readonly EffortFamily[] = [
  { models: /^o(1|3|3-mini|4-mini)$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5(-mini|-nano)?$/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-5-pro$/, efforts: ['high'] },
  { models: /^gpt-5(\.1)?-codex$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5\.1$/, efforts: ['low', 'medium', 'high'] },
  { models: /^gpt-5\.[2-5](-mini|-nano)?$/, efforts: ['low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-5\.6(-sol|-terra|-luna)?$/, efforts: lowToMax },
  { models: /^(gpt-6-astra|gpt-6\.1-sol)$/, efforts: lowToMax, alwaysThinks: true },
  { models: /^gpt-6-(sol|luna)$/, efforts: lowToMax },
  { models: /^gpt-6\.1-[a-z]+$/, efforts: lowToMax },
];

export function checkOpenAiEffort(provider: string, model: string, effort: ThinkingEffort): ThinkingEffort {
  const family = findFamily(model);
  if (!family) return effort;
  const levels = family.efforts.filter((level) => level !== 'max' || provider !== 'openai-chat');
  return lookUpEffort(`${provider}:${model}`, effort, Object.fromEntries(levels.map((level) => [level, level])));
}

export function checkOpenAiNoThinking(provider: string, model: string): void {
  if (!findFamily(model)?.alwaysThinks) return;
  throw capabilityError(
    `${provider}:${model} always thinks; thinking cannot be turned off.`,
    "Use a low effort: thinking: { effort: 'low' }, or another model.",
  );
}

function findFamily(model: string): EffortFamily | undefined {
  const name = model
    .replace(/^(ft:|.*\/)/, '')
    .replace(/:.*$/, '')
    .replace(/-\d{4}-\d{2}-\d{2}$/, '');
  return families.find(({ models }) => models.test(name));
}
