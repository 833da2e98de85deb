import { ConfigurationError } from './errors.js';

/** The default of `maxTurns`: after this many model calls a run makes no further request. */
export const DEFAULT_MAX_TURNS = 20;

/** The longest delay of a platform's timer, 2^31 - 1 ms. A timer with a longer delay fires at once. */
export const maxTimerDelay = 2_147_483_647;

/**
 * Checks an option that is a number. `NaN` (a text that is not a number, an absent variable) would silently remove a
 * limit, or always exceed it.
 *
 * @param name The name of the option.
 * @param value Its value.
 * @param minimum The least valid value.
 * @throws ConfigurationError `options`
 */
export function requireNumber(name: string, value: number, minimum: number): void {
  if (value >= minimum) return;
  throw new ConfigurationError(
    'options',
    `${name} is ${value}.`,
    `Pass a number of at least ${minimum}. Infinity is allowed.`,
  );
}
