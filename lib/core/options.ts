import { isObservable } from 'rxjs';
import { optionsError } from './errors.js';

export const DEFAULT_MAX_TURNS = 20;

/** 2^31 - 1 ms: with a longer delay, `setTimeout` fires at once. */
export const MAX_TIMER_DELAY = 2_147_483_647;

/** `NaN` would silently disable a limit, a text be compared as one. The error has no text: it may be a key. */
export function requireNumber(name: string, value: unknown, minimum: number, maximum = Infinity): void {
  if (value === undefined || (typeof value === 'number' && value >= minimum && value <= maximum)) return;
  const shown = typeof value === 'number' ? value : `of the type ${value === null ? 'null' : typeof value}`;
  const atMost = maximum === Infinity ? '. Infinity is allowed.' : ` and at most ${maximum}.`;
  throw optionsError(`${name} is ${shown}.`, `Pass a number of at least ${minimum}${atMost}`);
}

/** A number without a default: a budget that is undefined would never be used up. */
export const requireGiven = (name: string, value: unknown, minimum: number): void =>
  requireNumber(name, value ?? null, minimum);

/** A Promise would count as true, whatever it resolves to: a guard would allow everything. */
export function requireAnswer(name: string, value: unknown): boolean {
  if (!isObservable(value) && !(value instanceof Promise)) return Boolean(value);
  throw optionsError(`${name} returned no boolean.`, 'Return true or false, not a Promise.');
}
