import { ConfigurationError } from './errors.js';

/** The default of `maxTurns`: the model calls of a run, after which no further request is made. */
export const DEFAULT_MAX_TURNS = 20;

/** The longest delay that a platform's timer takes, 2^31 - 1 ms; beyond it, it fires at once. */
export const maxTimerDelay = 2_147_483_647;

/**
 * Checks an option that is a number: `NaN` (a text that was none, an absent variable) would be no limit, or none at all.
 *
 * @param name The option.
 * @param value Its value.
 * @param least The least that makes sense.
 * @throws ConfigurationError `options`
 */
export function requireNumber(name: string, value: number, least: number): void {
  if (value >= least) return;
  throw new ConfigurationError(
    'options',
    `${name} is ${value}.`,
    `Pass a number of at least ${least}; Infinity is one.`,
  );
}
