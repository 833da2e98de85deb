import { asyncScheduler, defer, retry, throwError, timer, type MonoTypeOperatorFunction } from 'rxjs';
import { answerWithin } from '../../core/timeLimit.js';
import { isEnded } from '../ports/isEnded.js';

/** The longest delay between two attempts, in milliseconds. */
const MAX_DELAY = 2000;

/** In milliseconds: less than the 9 s for which a service waits for a write. */
const ANSWER_TIME = 8000;

/** Without a limit, a reader would wait for ever for a connection that is open and silent, as after a failover. */
export const requireDatabase = <T>(first = ANSWER_TIME): MonoTypeOperatorFunction<T> =>
  answerWithin('The database', first);

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
