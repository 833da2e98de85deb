import { AsyncSubject, EMPTY, defer, expand, map, observeOn, of, queueScheduler } from 'rxjs';
import type { Observable } from 'rxjs';
import { createOperator, subscribeUntilClosed } from '../core/createOperator.js';
import { StreamInterruptedError } from '../core/errors.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { isTurn } from '../core/eventGuards.js';
import { DEFAULT_MAX_TURNS, requireNumber } from '../core/options.js';

/** What a turn knows about its run. */
export interface TurnPosition {
  /** Whether `maxTurns` allows no turn after this one. Pass it on to `endTurn` and `followUp`. */
  readonly last: boolean;
}

/** Options of `runTurns`. */
export interface RunTurnsOptions {
  /** The maximum number of turns of a run, the turns before `start` included. Default 20. */
  readonly maxTurns?: number | undefined;
  /** The model's provider, for the error that reports an interrupted turn. Default: `unknown`. */
  readonly provider?: string | undefined;
}

/** A turn, and the turn after it: emitted once the events have ended and their resources are gone. */
interface Turn<E> {
  readonly events: Observable<E>;
  readonly last: boolean;
  readonly next: Observable<Turn<E>>;
  /** Decides what `next` emits. */
  readonly settle: (next: RunState | null) => void;
}

/**
 * Runs turn after turn until a turn has no successor.
 *
 * <span class="informal">`expand` over turns: each turn says where the next one starts.</span>
 *
 * ![](../../marbles/runTurns.svg)
 *
 * It does what `turn(start).pipe(expand((event) => (event.type === 'turn' && event.next ? turn(event.next) : EMPTY)))`
 * does, and guarantees more:
 *
 * - With `take(n)`, no turn starts after the n-th event.
 * - The `turn` event is held until its turn has completed and its resources are gone: the connections and tools of a
 *   turn are closed before the next request, also those of a `retry`, `catchError` or `switchMap` inside the turn,
 *   which subscribe late. One case cannot be ordered with RxJS: an inner source that is subscribed late and completes
 *   synchronously returns its teardown after it has completed.
 * - Turns that complete synchronously are trampolined on `queueScheduler`: any number of them runs without nesting and
 *   in constant memory. A run that is started in a handler of another synchronous run therefore continues after that
 *   handler has returned.
 * - At `maxTurns` the run ends, whatever the turn says: the `turn` event then has `finishReason: 'maxTurns'` and no
 *   successor. A run that starts at the limit makes no request and emits only that event.
 *
 * A `retry` around a turn (`retry(2)` after the turn's operators) is a second subscription: the text of the failed
 * attempt stays emitted and the new attempt emits it again. A retry that replaces text emits `{ type: 'retract' }`
 * first.
 *
 * ```ts
 * const turn = (state: RunState, { last }: TurnPosition) =>
 *   model
 *     .stream({ messages: state.messages })
 *     .pipe(accumulateToolCalls(), consolidate(), executeTools(tools), endTurn(state, { last }));
 * runTurns(turn, startState([userMessage('Hi')]), { maxTurns: 5 }).subscribe(console.log);
 * ```
 *
 * @param turn Returns the events of the turn that starts at a state. Its `turn` event holds the state of the next turn.
 * @param start Where the run starts: `startState(messages)`, or the `next` of an earlier run's `turn` event, to resume
 * that run.
 * @param options `maxTurns` (default 20).
 * @returns The events of all turns, in order. A turn that completes without a `turn` event is a
 * `StreamInterruptedError`; an invalid `maxTurns` is a `ConfigurationError`.
 */
export function runTurns<E extends StreamEvent>(
  turn: (state: RunState, position: TurnPosition) => Observable<E>,
  start: RunState,
  { maxTurns = DEFAULT_MAX_TURNS, provider = 'unknown' }: RunTurnsOptions = {},
): Observable<E> {
  const turnFrom = (state: RunState): Turn<E> => {
    const last = state.turn + 1 >= maxTurns;
    const next = new AsyncSubject<RunState>(); // of a state: turns that held their successors would pile up in memory
    const settle = (following: RunState | null) => {
      if (following) next.next(following);
      next.complete();
    };
    return { events: turn(state, { last }), last, next: next.pipe(map(turnFrom)), settle };
  };
  const firstTurn = () => {
    requireNumber('maxTurns', maxTurns, 0);
    return of(start.turn < maxTurns ? turnFrom(start) : noTurn<E>(start));
  };
  return defer(firstTurn).pipe(
    expand(({ next }) => next.pipe(observeOn(queueScheduler))), // trampolined: synchronous turns do not nest
    emitEvents(provider),
  );
}

/**
 * Emits the events of each turn; the `turn` event when the turn has been torn down.
 *
 * It is a `concatMap(({ events }) => events)` without the queue, since a turn arrives when the turn before it has
 * ended, and with the barrier that waits for the teardown: one subscriber in the path of a delta rather than two.
 */
function emitEvents<E extends StreamEvent>(provider: string) {
  return createOperator<Turn<E>, E>((out) => ({
    next({ events, last, settle }) {
      let turnEvent: (E & TurnEvent) | undefined;
      const observer = {
        next(event: E) {
          try {
            if (isTurn(event)) turnEvent = event;
            else out.next(event);
          } catch (thrown) {
            out.error(thrown); // not an event
          }
        },
        error: (thrown: unknown) => out.error(thrown),
        complete: () => undefined,
      };
      subscribeUntilClosed(out, events, observer, () => {
        if (!turnEvent) {
          out.error(interrupted(provider));
          return;
        }
        const { next = null } = turnEvent;
        out.next(next && last ? { ...turnEvent, finishReason: 'maxTurns', next: null } : turnEvent);
        settle(last ? null : next); // without effect if the output is closed now: nothing observes `next` then
      });
    },
  }));
}

const interrupted = (provider: string) =>
  new StreamInterruptedError(
    provider,
    'The turn completed without a `turn` event. Its model was interrupted before `finish`, for example by takeUntil, ' +
      'or its orchestrator does not end with endTurn.',
  );

/** What a run that starts at its limit emits instead of a turn. */
function noTurn<E extends StreamEvent>({ turn }: RunState): Turn<E> {
  const event: TurnEvent = { type: 'turn', turn, finishReason: 'maxTurns', next: null };
  return { events: of(event as StreamEvent as E), last: true, next: EMPTY, settle: () => undefined };
}
