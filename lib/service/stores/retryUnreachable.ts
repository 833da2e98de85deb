import { asyncScheduler, defer, retry, throwError, timer, type MonoTypeOperatorFunction } from 'rxjs';
import { isEnded } from '../ports/isEnded.js';

/** The longest delay between two attempts, in milliseconds. */
const MAX_DELAY = 2000;

/** Subscribes again while a database cannot be reached. A statement that failed so may have been executed. */
export function retryUnreachable<T>(
  isUnreachable: (thrown: unknown) => boolean,
  retryTime: number,
): MonoTypeOperatorFunction<T> {
  return (source) =>
    defer(() => {
      const end = asyncScheduler.now() + retryTime;
      return source.pipe(
        retry({
          delay: (thrown: unknown, attempt) =>
            isUnreachable(thrown) && !isEnded(thrown) && asyncScheduler.now() < end
              ? timer(Math.min(50 * 2 ** attempt, MAX_DELAY))
              : throwError(() => thrown),
        }),
      );
    });
}
