import { type ConfigurationError, optionsError } from '../../core/errors.js';
import type { ThinkingEffort } from '../../core/model.js';

/**
 * Looks up a level of thinking in a table of the levels that a model has.
 *
 * @param model The provider and the model, for the error: `google:gemini-3.8-flash`.
 * @param effort The requested level.
 * @param levels What each level is on the wire. A level that is not a key does not exist.
 * @throws ConfigurationError `options` if the model does not have the level: a dropped level would be a silent change.
 */
export function lookUpEffort<T>(
  model: string,
  effort: ThinkingEffort,
  levels: Readonly<Partial<Record<ThinkingEffort, T>>>,
): T {
  const names = Object.keys(levels);
  if (names.includes(effort)) return levels[effort] as T; // the key exists
  throw optionsError(
    `${model} has no thinking effort "${effort}".`,
    names.length > 0 ? `Pass one of: ${names.join(', ')}.` : 'Omit thinking.',
  );
}

export function unsupportedBudgetError(provider: string, budget: number): ConfigurationError {
  return optionsError(
    `${provider} does not support a budget for thinking (${budget} tokens).`,
    "Pass an effort: thinking: { effort: 'low' }; or limit the output, including thinking, with maxOutputTokens.",
  );
}
