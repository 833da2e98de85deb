import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';

/**
 * Emits an event after it is written, so that a reader receives nothing that a crash could undo. An event that is not
 * written passes without an inner subscription.
 */
export function writeFirst<E>(write: (event: E) => Observable<never> | undefined): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    const waiting: E[] = [];
    let isWriting = false;
    /** How the source has ended: the receiver learns of it after the last event. */
    let end: (() => void) | undefined;
    const emitWritten = (event: E) => {
      const written = write(event);
      if (!written) {
        out.next(event);
        return;
      }
      isWriting = true;
      out.add(
        written.subscribe({
          error: (thrown: unknown) => out.error(thrown),
          complete() {
            isWriting = false;
            out.next(event);
            emitWaiting();
          },
        }),
      );
    };
    const emitWaiting = () => {
      while (!isWriting && waiting.length > 0) emitWritten(waiting.shift() as E);
      if (!isWriting) end?.();
    };
    const endAfterWrites = (ending: () => void) => {
      end = ending;
      if (!isWriting) ending();
    };
    return {
      next(event) {
        if (isWriting) waiting.push(event);
        else emitWritten(event);
      },
      error: (thrown) => endAfterWrites(() => out.error(thrown)),
      complete: () => endAfterWrites(() => out.complete()),
    };
  });
}
