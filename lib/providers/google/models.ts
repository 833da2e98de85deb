import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Thinking } from '../../core/model.js';
import { generationOf } from './providerData.js';

/** The budgets that Google's guide "OpenAI compatibility" gives for the efforts, for models before Gemini 3, which know no levels. */
const budgets = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 } as const;

/**
 * `thinkingConfig` (guide "Gemini thinking"): Gemini 3 takes a level, and a budget for compatibility; Gemini 2.5 a budget, of which -1 leaves it to
 * the model and 0 is none. The two exclude each other: given both, Gemini 3 gets the effort, older ones the budget. Thoughts are shown whenever
 * there may be any.
 *
 * @throws ConfigurationError `capability` where a model that cannot but think must not.
 */
export function encodeThinking(model: string, thinking: Thinking): JsonObject {
  const levels = (generationOf(model) ?? 0) >= 3;
  if (thinking === false) return withoutThinking(model, levels);
  if (thinking === true)
    return omitUndefined({ includeThoughts: true, thinkingBudget: generationOf(model) === 2.5 ? -1 : undefined });
  const { effort, budget } = thinking;
  if (effort !== undefined && (levels || budget === undefined)) {
    return { includeThoughts: true, ...(levels ? { thinkingLevel: effort } : { thinkingBudget: budgets[effort] }) };
  }
  return omitUndefined({ includeThoughts: budget !== 0, thinkingBudget: budget });
}

/** The Pro models always think; of Gemini 3, Flash thinks least at `minimal`. */
function withoutThinking(model: string, levels: boolean): JsonObject {
  if (/-pro\b/.test(model) && generationOf(model) !== undefined && (generationOf(model) ?? 0) >= 2.5) {
    throw new ConfigurationError(
      'capability',
      `google: ${model} cannot be asked not to think.`,
      "Take a Flash model, or have it think little: thinking: { effort: 'low' }.",
    );
  }
  return levels ? { thinkingLevel: 'minimal' } : { thinkingBudget: 0 };
}
