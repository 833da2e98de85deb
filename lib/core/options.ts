import { isObservable } from 'rxjs';
import { optionsError } from './errors.js';
import { reportRejection } from './reportUnhandled.js';
import { isThenable } from './settled.js';

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

export function requireNumbers(values: Readonly<Record<string, unknown>>, minimum: number): void {
  for (const [name, value] of Object.entries(values)) requireNumber(name, value, minimum);
}

/** A number without a default: a budget that is undefined would never be used up. */
export const requireGiven = (name: string, value: unknown, minimum: number): void =>
  requireNumber(name, value ?? null, minimum);

/** What a function of the user returned: a Promise would count as true, be written as `{}`, or reject unhandled. */
export function requireSync<T>(name: string, value: T): T {
  if (!isObservable(value) && !isThenable(value)) return value;
  reportRejection(value);
  const kind = isObservable(value) ? 'an Observable' : 'a Promise';
  throw optionsError(`${name} returned ${kind}.`, 'Return the value itself, not in the future.');
}

export const requireAnswer = (name: string, value: unknown): boolean => Boolean(requireSync(name, value));
