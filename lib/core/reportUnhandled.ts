import { config, throwError } from 'rxjs';

/**
 * Reports an error for which there is no handler: to `config.onUnhandledError`, as RxJS does. Without it, RxJS throws,
 * which would end a process with all of its runs: the error is printed instead.
 */
export function reportUnhandled(thrown: unknown): void {
  if (config.onUnhandledError) throwError(() => thrown).subscribe();
  // eslint-disable-next-line no-console -- nobody else would learn of it
  else console.error(thrown);
}
