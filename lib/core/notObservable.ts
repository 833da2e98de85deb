import { ConfigurationError } from './errors.js';

/** For a Promise, an array, an Observable of the platform. */
export function notObservable(subject: 'model' | 'options', what: string, value: unknown): ConfigurationError {
  const kind = Object.prototype.toString.call(value).slice(8, -1); // `Promise`, `Array`, `Undefined`
  return new ConfigurationError(
    subject,
    `${what} is not an Observable of RxJS (it is: ${kind}).`,
    'Convert it: `from(value)`.',
  );
}
