import { ConfigurationError } from './errors.js';

export const DEFAULT_MAX_TURNS = 20;

/** The longest delay that `setTimeout` supports, 2^31 - 1 ms. With a longer delay it fires at once. */
export const MAX_TIMER_DELAY = 2_147_483_647;

/**
 * `NaN` (`Number()` of a missing variable) would silently disable a limit or always exceed it; a text would be compared
 * as one. Throws ConfigurationError `options`, without the text, since it may be a key.
 */
export function requireNumber(name: string, value: unknown, minimum: number, maximum = Infinity): void {
  if (value === undefined || (typeof value === 'number' && value >= minimum && value <= maximum)) return;
  const shown = typeof value === 'number' ? value : `of the type ${value === null ? 'null' : typeof value}`;
  const atMost = maximum === Infinity ? '. Infinity is allowed.' : ` and at most ${maximum}.`;
  throw new ConfigurationError('options', `${name} is ${shown}.`, `Pass a number of at least ${minimum}${atMost}`);
}
