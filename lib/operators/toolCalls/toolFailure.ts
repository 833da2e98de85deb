import { identity, map, takeUntil, timer } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { ToolErrorCode } from '../../core/message.js';
import { maxTimerDelay } from '../../core/options.js';

/** A failure of a call with a specific code. Any other exception has the code `failed`. */
export class ToolFailure extends Error {
  constructor(
    readonly code: ToolErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** The code of an error. A tool may throw anything, also a Proxy: `instanceof` then throws what its trap throws. */
export function codeOf(thrown: unknown): ToolErrorCode {
  try {
    return thrown instanceof ToolFailure ? thrown.code : 'failed';
  } catch {
    return 'failed';
  }
}

/** Fails as soon as the notifier emits. */
export function failWhen<T>(notifier: Observable<unknown>, failure: () => ToolFailure): MonoTypeOperatorFunction<T> {
  return takeUntil(
    notifier.pipe(
      map(() => {
        throw failure();
      }),
    ),
  );
}

/**
 * Limits the total time. RxJS's `timeout(ms)` restarts with each value, so a tool that keeps reporting progress would
 * never time out.
 */
export function limitTime<T>(deadline = Infinity): MonoTypeOperatorFunction<T> {
  if (deadline === Infinity) return identity;
  return failWhen(
    timer(Math.min(deadline, maxTimerDelay)),
    () => new ToolFailure('timeout', `The tool did not finish within ${deadline} ms.`),
  );
}
