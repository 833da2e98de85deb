import { config, throwError } from 'rxjs';

/** To `config.onUnhandledError`, or printed: RxJS would throw it, which ends a process with all of its runs. */
export function reportUnhandled(thrown: unknown): void {
  if (config.onUnhandledError) throwError(() => thrown).subscribe();
  // eslint-disable-next-line no-console -- nobody else would learn of it
  else console.error(thrown);
}
