import { defer, Observable } from 'rxjs';
import { subscribeUntilClosed } from '../core/createOperator.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';

/**
 * Runs turn after turn until one says that none follows.
 *
 * <span class="informal">`expand` over turns, with its traps closed.</span>
 *
 * ![](../../marbles/runTurns.svg)
 *
 * It is `turn(start).pipe(expand((event) => (event.type === 'turn' && event.next ? turn(event.next) : EMPTY)))`, except that
 *
 * - a turn of which nothing would be taken is not started: `take(n)` on its last event sends no further request;
 * - the `turn` event is held until its turn has completed and been torn down: connections and tools of turn n are gone before request n + 1;
 * - turns that complete synchronously (in tests) do not nest: any number of them runs, in flat memory.
 *
 * ```ts
 * runTurns((state) => model.stream({ messages: state.messages }).pipe(accumulateToolCalls(), consolidate(), executeTools(tools), endTurn(state)),
 *   startState([userMessage('Hi')])).subscribe(console.log);
 * ```
 *
 * @param turn Makes the Observable of the turn that starts at a state; its `turn` event tells what follows.
 * @param start Where the run starts: `startState(messages)`, or the `next` of an earlier run's turn, to resume it.
 * @returns The events of all turns, in order. It completes after a turn without `next`, or one that completes without a `turn` event.
 */
export function runTurns<E extends StreamEvent>(
  turn: (state: RunState) => Observable<E>,
  start: RunState,
): Observable<E> {
  return new Observable<E>((out) => {
    let due: RunState | undefined = start;
    let looping = false;
    const loop = () => {
      if (looping) return; // a synchronous turn ended within the loop: the loop goes on, the stack does not grow
      looping = true;
      while (due && !out.closed) {
        const state = due;
        due = undefined;
        oneTurn(state);
      }
      looping = false;
    };
    const oneTurn = (state: RunState) => {
      let held: E | undefined;
      let completed = false;
      const observer = {
        next(event: E) {
          if (event.type === 'turn') held = event;
          else out.next(event);
        },
        error: (thrown: unknown) => out.error(thrown),
        complete: () => (completed = true),
      };
      const tornDown = () => {
        if (!completed) return;
        if (held) out.next(held);
        due = (held as TurnEvent | undefined)?.next ?? undefined;
        if (due) loop();
        else out.complete();
      };
      subscribeUntilClosed(
        out,
        defer(() => turn(state)),
        observer,
        tornDown,
      );
    };
    loop();
  });
}
