import { ConfigurationError } from './errors.js';

/** The default of `maxTurns`, the maximum number of requests to the model in one run. */
export const DEFAULT_MAX_TURNS = 20;

/** The longest delay that `setTimeout` supports, 2^31 - 1 ms. With a longer delay it fires at once. */
export const MAX_TIMER_DELAY = 2_147_483_647;

/**
 * Checks a numeric option. `NaN` (the result of `Number()` for a text that is not a number or a missing variable) would
 * silently disable a limit, or always exceed it.
 *
 * @param name The name of the option.
 * @param value The value to check.
 * @param minimum The smallest valid value.
 * @throws ConfigurationError `options` if the value is less than `minimum`, or `NaN`.
 */
export function requireNumber(name: string, value: number, minimum: number): void {
  if (value >= minimum) return;
  throw new ConfigurationError(
    'options',
    `${name} is ${value}.`,
    `Pass a number of at least ${minimum}. Infinity is allowed.`,
  );
}
