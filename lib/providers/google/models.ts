import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Thinking, ThinkingEffort } from '../../core/model.js';
import { lookUpEffort } from '../shared/thinkingEffort.js';

/**
 * Returns the generation in a model's name (2.5 for `gemini-2.5-flash`, 3 for `models/gemini-3-pro-preview`); undefined
 * for a name without a generation (`gemini-flash-latest`, a tuned model).
 */
export function modelGeneration(model: string): number | undefined {
  const generation = /(?:^|\/)gemini-(\d+(?:\.\d+)?)(?![\d.])/.exec(model)?.[1];
  return generation === undefined ? undefined : Number(generation);
}

/** Whether a model's name shows that it is Gemini 3 or later. */
export const isGemini3 = (model: string): boolean => (modelGeneration(model) ?? 0) >= 3;

/**
 * The budget in tokens for each effort, for models before Gemini 3, which do not support thinking levels (Google's
 * guide "OpenAI compatibility").
 */
const budgetsByEffort = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 } as const;

const allLevels = { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' } as const;
const pro31Levels = { low: 'low', medium: 'medium', high: 'high' } as const;
const pro3Levels = { low: 'low', high: 'high' } as const;

/**
 * The levels of a model since Gemini 3 (guides "Gemini 3" and "Gemini 3.5 Flash", on the levels of each model): Pro
 * models have no `minimal`, and the first of them no `medium`.
 */
function levelsOf(model: string): Readonly<Partial<Record<ThinkingEffort, string>>> {
  if (!isPro(model)) return allLevels;
  return modelGeneration(model) === 3 ? pro3Levels : pro31Levels;
}

const isPro = (model: string): boolean => /-pro\b/.test(model);

/**
 * Encodes the `thinkingConfig` of a request (guide "Gemini thinking").
 *
 * Gemini 3 accepts a level, and also a budget for compatibility. Gemini 2.5 accepts a budget: -1 lets the model decide,
 * 0 turns thinking off. A request cannot have both. If the user sets both an effort and a budget, the effort is sent to
 * Gemini 3, and the budget to older models. Thoughts are requested unless thinking is off.
 *
 * @throws ConfigurationError `capability` if thinking is turned off for a model that always thinks, and `options` for
 * an effort that the model does not have.
 */
export function encodeThinking(model: string, thinking: Thinking): JsonObject {
  const hasLevels = isGemini3(model);
  if (thinking === false) return encodeNoThinking(model, hasLevels);
  if (thinking === true)
    return omitUndefined({ includeThoughts: true, thinkingBudget: modelGeneration(model) === 2.5 ? -1 : undefined });
  const { effort, budget } = thinking;
  if (effort !== undefined && hasLevels)
    return { includeThoughts: true, thinkingLevel: lookUpEffort(`google:${model}`, effort, levelsOf(model)) };
  if (effort !== undefined && budget === undefined)
    return { includeThoughts: true, thinkingBudget: lookUpEffort(`google:${model}`, effort, budgetsByEffort) };
  return omitUndefined({ includeThoughts: budget !== 0, thinkingBudget: budget });
}

/**
 * Encodes `thinking: false`. Pro models always think. For the Flash models of Gemini 3, `minimal` is the lowest level.
 */
function encodeNoThinking(model: string, hasLevels: boolean): JsonObject {
  if (isPro(model) && (modelGeneration(model) ?? 0) >= 2.5) {
    throw new ConfigurationError(
      'capability',
      `google:${model} always thinks; thinking cannot be turned off.`,
      "Use a Flash model, or a low effort: thinking: { effort: 'low' }.",
    );
  }
  return hasLevels ? { thinkingLevel: 'minimal' } : { thinkingBudget: 0 };
}
