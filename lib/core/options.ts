import { ConfigurationError } from './errors.js';

/** The default of `maxTurns`, the maximum number of requests to the model in one run. */
export const DEFAULT_MAX_TURNS = 20;

/** The longest delay that `setTimeout` supports, 2^31 - 1 ms. With a longer delay it fires at once. */
export const MAX_TIMER_DELAY = 2_147_483_647;

/**
 * Checks a numeric option. `NaN` (the result of `Number()` for a text that is not a number or a missing variable) would
 * silently disable a limit, or always exceed it, and a text would be compared as one.
 *
 * @param name The name of the option.
 * @param value The value to check. An omitted option is valid.
 * @param minimum The smallest valid value.
 * @param maximum The largest one. Default: Infinity, which is then valid, too.
 * @throws ConfigurationError `options` if the value is not a number in this range. A text is not repeated in it, since
 * it may be a key.
 */
export function requireNumber(name: string, value: unknown, minimum: number, maximum = Infinity): void {
  if (value === undefined || (typeof value === 'number' && value >= minimum && value <= maximum)) return;
  const shown = typeof value === 'number' ? value : `of the type ${value === null ? 'null' : typeof value}`;
  const atMost = maximum === Infinity ? '. Infinity is allowed.' : ` and at most ${maximum}.`;
  throw new ConfigurationError('options', `${name} is ${shown}.`, `Pass a number of at least ${minimum}${atMost}`);
}
