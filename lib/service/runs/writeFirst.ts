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
 * Emits an event after it is written, so that a reader receives nothing that a crash could undo. Of the events that
 * arrive during a write, only the last that is written is written: it has what those before it have.
 */
export function writeFirst<E>(
  write: (event: E) => Observable<never> | undefined,
  counted?: WrittenEvents,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let waiting: E[] = [];
    /** Also while events are emitted: the run may emit its next events meanwhile. */
    let isWriting = false;
    /** How the source has ended: the receiver learns of it after the last event. */
    let end: (() => void) | undefined;
    const emitAll = (events: readonly E[]) => {
      for (const event of events) {
        out.next(event);
        counted?.pass();
      }
      isWriting = false;
    };
    const emitWaiting = () => {
      while (!isWriting && waiting.length > 0) {
        const events = waiting;
        waiting = [];
        isWriting = true;
        let written: Observable<never> | undefined;
        for (const event of events) written = write(event) ?? written;
        const complete = () => {
          emitAll(events);
          emitWaiting();
        };
        if (written) out.add(written.subscribe({ error: (thrown: unknown) => out.error(thrown), complete }));
        else emitAll(events);
      }
      if (!isWriting) end?.();
    };
    const endAfterWrites = (ending: () => void) => {
      end = ending;
      emitWaiting();
    };
    return {
      next(event) {
        counted?.receive();
        waiting.push(event);
        emitWaiting();
      },
      error: (thrown) => endAfterWrites(() => out.error(thrown)),
      complete: () => endAfterWrites(() => out.complete()),
    };
  });
}
