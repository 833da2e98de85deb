import { BehaviorSubject, defer, filter, ignoreElements, take, type MonoTypeOperatorFunction } from 'rxjs';
import type { Observable } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';

/** Counts the events of a run, for the option `written` of it. */
export class WrittenEvents {
  private received = 0;
  private readonly passed = new BehaviorSubject(0);

  receive(): void {
    this.received += 1;
  }

  pass(): void {
    this.passed.next(this.passed.value + 1);
  }

  /** Completes when the events that the run has emitted before are written. */
  readonly all: Observable<never> = defer(() => {
    const { received } = this;
    return this.passed.pipe(
      filter((passed) => passed >= received),
      take(1),
      ignoreElements(),
    );
  });
}

/**
 * Emits an event after it is written, so that a reader receives nothing that a crash could undo. An event that is not
 * written passes without an inner subscription.
 */
export function writeFirst<E>(
  write: (event: E) => Observable<never> | undefined,
  counted?: WrittenEvents,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    const waiting: E[] = [];
    let isWriting = false;
    /** How the source has ended: the receiver learns of it after the last event. */
    let end: (() => void) | undefined;
    const emit = (event: E) => {
      out.next(event);
      counted?.pass(); // the run may emit its next events meanwhile
    };
    const emitWritten = (event: E) => {
      isWriting = true; // `write` may make the run emit its next events
      const written = write(event);
      if (!written) {
        isWriting = false;
        emit(event);
        return;
      }
      out.add(
        written.subscribe({
          error: (thrown: unknown) => out.error(thrown),
          complete() {
            isWriting = false;
            emit(event);
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
      if (!isWriting && waiting.length === 0) ending(); // an event that was passed may have ended the source
    };
    return {
      next(event) {
        counted?.receive();
        if (isWriting || waiting.length > 0) waiting.push(event);
        else {
          emitWritten(event);
          emitWaiting();
        }
      },
      error: (thrown) => endAfterWrites(() => out.error(thrown)),
      complete: () => endAfterWrites(() => out.complete()),
    };
  });
}
