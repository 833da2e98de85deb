import { asyncScheduler, of, type Observable } from 'rxjs';
import { deferCall } from '../core/deferCall.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { DEFAULT_MAX_TURNS, requireNumber } from '../core/options.js';
import { loop, Turn, type EndOfTurns, type Turns } from './loop.js';
import { reachedLimit, toConditions, type StopCondition, type StopWhen } from './stopWhen.js';

export interface TurnPosition {
  /** `maxTurns` allows no turn after this one. Pass it on to `endTurn` and `followUp`. */
  readonly last: boolean;
}

export interface RunTurnsOptions {
  /** The maximum number of turns of a run, including the turns before `start`. Default: 20. */
  readonly maxTurns?: number | undefined;
  /** The model's provider, for the error that reports an interrupted turn. Default: `unknown`. */
  readonly provider?: string | undefined;
  /** Conditions that end the run between two turns. If several hold, the first one is named. Default: none. */
  readonly stopWhen?: StopWhen | undefined;
}

/**
 * Runs turns one after the other, until no turn follows.
 *
 * <span class="informal">`expand` over turns: each turn returns the state from which the next turn starts.</span>
 *
 * ![](../../marbles/runTurns.svg)
 *
 * It works like
 * `turn(start).pipe(expand((event) => (event.type === 'turn' && event.next ? turn(event.next) : EMPTY)))`, with these
 * additional guarantees:
 *
 * - With `take(n)`, no turn starts after the n-th event.
 * - The `turn` event is held until its turn has completed and its resources have been released. The connections and
 *   tools of a turn are therefore closed before the next request, even those of a source that `retry`, `catchError` or
 *   `switchMap` subscribes later inside the turn. RxJS cannot guarantee this order if such a source completes
 *   synchronously, because it returns its teardown function only after it has completed.
 * - Turns that complete synchronously are scheduled on `queueScheduler`, so any number of them runs without nested
 *   calls and in constant memory. A run that is started in a handler of another synchronous run therefore continues
 *   after that handler has returned.
 * - A turn whose calls wait for answers ends the run with an `openCalls` event instead of its `turn` event.
 * - At `maxTurns` the run ends, even if the turn has a `next` state: its `turn` event then has
 *   `finishReason: 'maxTurns'` and `next: null`. A run that starts at the limit makes no request and emits only that
 *   event.
 * - A condition of `stopWhen` ends the run in the same way, with `finishReason: 'limit'` and the name of the condition
 *   as `rawReason`. The conditions are checked after each turn that has a `next` state, and at the start of a resumed
 *   run. The tools of the turn have run, so the history is complete.
 *
 * A `retry(2)` after the operators of a turn subscribes again: the text of the failed attempt remains valid, and the
 * new attempt emits its text in addition. To replace the text, emit `{ type: 'retract' }` before the new attempt.
 *
 * ```ts
 * const turn = (state: RunState, { last }: TurnPosition) =>
 *   model
 *     .stream({ messages: state.messages })
 *     .pipe(accumulateToolCalls(), consolidate(), executeTools(tools), endTurn(state, { last }));
 * runTurns(turn, startState([userMessage('Hi')]), { maxTurns: 5 }).subscribe(console.log);
 * ```
 *
 * @param turn Returns the events of the turn that starts at a state. Its `turn` event contains the state of the next
 * turn.
 * @param start The state from which the run starts: `startState(messages)`, or the `next` of an earlier run's `turn`
 * event, to resume that run.
 * @param options `maxTurns` (default: 20), `stopWhen` (default: none), `provider` (default: `unknown`).
 * @returns The events of all turns, in order. It fails with a `StreamInterruptedError` if a turn completes without a
 * `turn` event, and with a `ConfigurationError` if `maxTurns` or `stopWhen` is not valid.
 */
export function runTurns<E extends StreamEvent>(
  turn: (state: RunState, position: TurnPosition) => Observable<E>,
  start: RunState,
  options: RunTurnsOptions = {},
): Observable<E> {
  return deferCall(startTurns<E>, turn, start, options);
}

function startTurns<E extends StreamEvent>(
  turn: (state: RunState, position: TurnPosition) => Observable<E>,
  start: RunState,
  { maxTurns = DEFAULT_MAX_TURNS, provider = 'unknown', stopWhen = [] }: RunTurnsOptions,
): Observable<E> {
  requireNumber('maxTurns', maxTurns, 0);
  const turns = new LimitedTurns(turn, maxTurns, toConditions(stopWhen));
  const end = start.turn > 0 || maxTurns === 0 ? turns.endAt(start) : undefined;
  if (end) return of({ type: 'turn', turn: start.turn, ...end, next: null } satisfies TurnEvent as StreamEvent as E);
  return loop(turns, start, provider);
}

class LimitedTurns<E> implements Turns<E> {
  private readonly startTime = asyncScheduler.now();

  constructor(
    private readonly turn: (state: RunState, position: TurnPosition) => Observable<E>,
    private readonly maxTurns: number,
    private readonly conditions: readonly StopCondition[],
  ) {}

  from(state: RunState): Turn<E> {
    return new Turn(this.turn(state, { last: state.turn + 1 >= this.maxTurns }));
  }

  /** Undefined if a turn starts. */
  endAt(state: RunState): EndOfTurns | undefined {
    if (state.turn >= this.maxTurns) return { finishReason: 'maxTurns' };
    const limit = reachedLimit(this.conditions, state, asyncScheduler.now() - this.startTime);
    return limit === undefined ? undefined : { finishReason: 'limit', rawReason: limit };
  }
}
