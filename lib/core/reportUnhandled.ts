import { config } from 'rxjs';
import { throwUnhandled } from './createOperator.js';

/** To `config.onUnhandledError`, or printed: RxJS would throw it, which ends a process with all of its runs. */
export function reportUnhandled(thrown: unknown): void {
  if (config.onUnhandledError) throwUnhandled(thrown);
  // eslint-disable-next-line no-console -- nobody else would learn of it
  else console.error(thrown);
}

/** A callback whose value nobody reads may be `async`: Node would end the process if it rejects. */
export function reportRejection(returned: unknown): void {
  if (returned instanceof Promise) returned.catch(reportUnhandled);
}

/**
 * For teardown, and for callbacks that only look on: the run goes on whatever they throw. Returns whether they have
 * thrown nothing.
 */
export function reportErrorsOf(work: () => unknown): boolean {
  try {
    reportRejection(work());
    return true;
  } catch (thrown) {
    reportUnhandled(thrown);
    return false;
  }
}
