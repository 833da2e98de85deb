import type { Observable } from 'rxjs';

/** The values of a stream, and its error if it has failed. */
export interface Outcome<T> {
  readonly values: readonly T[];
  readonly error?: unknown;
}

/** Subscribes, and waits for the end. */
export function outcome<T>(source: Observable<T>): Promise<Outcome<T>> {
  const values: T[] = [];
  return new Promise((resolve) => {
    source.subscribe({
      next: (value) => values.push(value),
      error: (error: unknown) => resolve({ values, error }),
      complete: () => resolve({ values }),
    });
  });
}
