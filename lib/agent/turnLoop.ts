import { AsyncSubject, expand, map, observeOn, of, queueScheduler } from 'rxjs';
import type { Observable, Subscriber } from 'rxjs';
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
  private readonly following = new AsyncSubject<RunState>();

  constructor(readonly events: Observable<E>) {}

  next(turns: Turns<E>): Observable<Turn<E>> {
    return this.following.pipe(map(turns.from.bind(turns)));
  }

  /** `next` emits the turn that starts at this state, or completes without a turn. */
  settle(state: RunState | null): void {
    if (state) this.following.next(state);
    this.following.complete();
  }
}

/** `expand` over turns. Unlike `concatMap`, it needs no queue: each delta passes one subscriber, not two. */
export const loop = <E extends StreamEvent>(turns: Turns<E>, start: RunState, provider: string): Observable<E> =>
  of(turns.from(start)).pipe(
    // The queue, so that synchronous turns do not nest.
    expand((turn) => turn.next(turns).pipe(observeOn(queueScheduler))),
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
    this.turn.settle(end ? null : next); // no effect if the output is closed: `next` has no subscriber then
  }
}

const interrupted = (provider: string) =>
  new StreamInterruptedError(
    provider,
    'The turn completed without a `turn` event. Its model was interrupted before `finish`, for example by takeUntil, ' +
      'or its orchestrator does not end with endTurn.',
  );
