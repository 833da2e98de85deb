import { ConfigurationError } from '../../core/errors.js';

/** The error for a budget where thinking is asked for by an effort. */
export function noBudget(provider: string, budget: number): ConfigurationError {
  return new ConfigurationError(
    'options',
    `${provider} takes no budget for thinking (${budget} tokens).`,
    "Pass an effort: thinking: { effort: 'low' }; or limit the answer, thinking included, with maxOutputTokens.",
  );
}
