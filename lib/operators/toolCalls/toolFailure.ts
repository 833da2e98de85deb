import { map, takeUntil } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { toolErrorTexts } from '../../core/message.js';
import type { ToolErrorCode } from '../../core/message.js';
import { TimeoutError } from '../../core/timeoutError.js';

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
    if (thrown instanceof TimeoutError && thrown.phase === 'tool') return 'timeout';
    return thrown instanceof ToolFailure ? thrown.code : 'failed';
  } catch {
    return 'failed';
  }
}

/** The failure of a call that is cancelled. */
export const cancellation = () => new ToolFailure('cancelled', toolErrorTexts.cancelled);

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
