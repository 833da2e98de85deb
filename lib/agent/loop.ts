import { expand, Observable, of, queueScheduler, type Subscriber } from 'rxjs';
import { createOperator, subscribeUntilClosed } from '../core/createOperator.js';
import { StreamInterruptedError } from '../core/errors.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { isOpenCalls, isTurn } from '../core/eventGuards.js';

export interface Turns<E> {
  from(state: RunState): Turn<E>;
  /** Undefined if a turn starts. */
  endAt(state: RunState): EndOfTurns | undefined;
}

export type EndOfTurns = Pick<TurnEvent, 'finishReason' | 'rawReason'>;

export class Turn<E> {
  /** Not the next turn itself: turns that reference the next would remain in memory. */
  private following: RunState | null | undefined;
  private continuation: (() => void) | undefined;

  constructor(readonly events: Observable<E>) {}

  /** On the queue, so that synchronous turns do not nest. */
  next(turns: Turns<E>): Observable<Turn<E>> {
    return new Observable<Turn<E>>((out) => {
      const emitNext = () => {
        if (this.following && !out.closed) out.next(turns.from(this.following));
        out.complete();
      };
      this.continuation = () => out.add(queueScheduler.schedule(emitNext));
      if (this.following !== undefined) this.continuation();
    });
  }

  /** `next` emits the turn that starts at this state, or completes without a turn. */
  settle(state: RunState | null): void {
    this.following = state;
    this.continuation?.();
  }
}

/** `expand` over turns. Unlike `concatMap`, it needs no queue: each delta passes one subscriber, not two. */
export const loop = <E extends StreamEvent>(turns: Turns<E>, start: RunState, provider: string): Observable<E> =>
  of(turns.from(start)).pipe(
    expand((turn) => turn.next(turns)),
    createOperator<Turn<E>, E>((out) => ({
      next: (turn) => subscribeUntilClosed(out, turn.events, new TurnEmitter(out, turn, turns, provider)),
    })),
  );

class TurnEmitter<E extends StreamEvent> {
  private turnEvent: (E & TurnEvent) | undefined;
  private waiting: E | undefined;

  constructor(
    private readonly out: Subscriber<E>,
    private readonly turn: Turn<E>,
    private readonly turns: Turns<E>,
    private readonly provider: string,
  ) {}

  next(event: E): void {
    if (isTurn(event)) this.turnEvent = event;
    else if (isOpenCalls(event) && event.waits) this.waiting = event;
    else this.out.next(event);
  }

  afterTeardown(): void {
    const { out, waiting, turnEvent } = this;
    if (waiting) {
      out.next(waiting);
      this.turn.settle(null);
      return;
    }
    if (!turnEvent) throw interrupted(this.provider);
    const { next = null } = turnEvent;
    const end = next ? this.turns.endAt(next) : undefined;
    out.next(end ? { ...turnEvent, ...end, next: null } : turnEvent);
    this.turn.settle(end ? null : next);
  }
}

const interrupted = (provider: string) =>
  new StreamInterruptedError(
    provider,
    'The turn completed without a `turn` event. Its model was interrupted before `finish`, for example by takeUntil, ' +
      'or its orchestrator does not end with endTurn.',
  );
