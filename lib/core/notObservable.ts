import { ConfigurationError } from './errors.js';

/** Creates the error for what JavaScript has passed in place of an Observable: a Promise, an array, one of the platform. */
export function notObservable(subject: 'model' | 'options', what: string, value: unknown): ConfigurationError {
  const kind = typeof value === 'object' && value ? (value.constructor?.name ?? 'object') : typeof value;
  return new ConfigurationError(
    subject,
    `${what} is not an Observable of RxJS (it is: ${kind}).`,
    'Use `from(value)` for a Promise or an iterable, and `new Observable((out) => ...)` around anything else.',
  );
}
