import { asyncScheduler, defer, retry, throwError, timeout, timer, type MonoTypeOperatorFunction } from 'rxjs';
import { isEnded } from '../ports/isEnded.js';

/** The longest delay between two attempts, in milliseconds. */
const MAX_DELAY = 2000;

/** In milliseconds: less than the 9 s for which a service waits for a write. */
const ANSWER_TIME = 8000;

/** Without a limit, a reader would wait for ever for a connection that is open and silent, as after a failover. */
export const requireAnswer = <T>(first = ANSWER_TIME): MonoTypeOperatorFunction<T> =>
  timeout({ first, with: () => throwError(() => new Error(`The database has not answered for ${first / 1000} s.`)) });

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
