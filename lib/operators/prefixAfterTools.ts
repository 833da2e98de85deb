import type { MonoTypeOperatorFunction } from 'rxjs';
import type { TextChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { MessageEvent, StreamEvent } from '../core/event.js';
import { hasToolResults } from '../core/message.js';

/**
 * Prepends `prefix` to the first text after a tool round.
 *
 * <span class="informal">"I'll look." and "It is 5 degrees." do not run together.</span>
 *
 * ![](../../marbles/prefixAfterTools.svg)
 *
 * It changes the stream only, never a stored message. It stands behind the loop, where it sees the turns of a run one after the other; a tool round is
 * a `message` with tool results. Empty text does not use the prefix up; a `retract` puts it back.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools());
 * ```
 *
 * @param prefix What is prepended. Default: a line feed.
 * @returns A function that returns an Observable of the source's events, with that one text changed.
 */
export function prefixAfterTools<E extends StreamEvent>(prefix = '\n'): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let due = false;
    let usedInTurn = false;
    return {
      next(event) {
        if (isText(event) && due && event.text !== '') {
          due = false;
          usedInTurn = true;
          out.next({ ...event, text: prefix + event.text });
          return;
        }
        if (event.type === 'retract') due ||= usedInTurn;
        else if (isMessage(event) && hasToolResults(event.message)) due = true;
        if (event.type === 'retract' || event.type === 'turn') usedInTurn = false;
        out.next(event);
      },
    };
  });
}

const isText = (event: StreamEvent): event is TextChunk => event.type === 'text';
const isMessage = (event: StreamEvent): event is MessageEvent => event.type === 'message';
