import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { StreamInterruptedError } from '../../core/errors.js';
import type { RunEvent } from '../../core/event.js';
import type { ToolCallFragment, Chunk } from '../../core/chunk.js';
import { AgUiDecoder } from './decoder.js';
import type { AgUiMessage, AgUiOtherEvent } from '../../transport/agUi/protocol.js';
import type { OfType } from '../../core/typesOf.js';

/**
 * Converts the events of an AG-UI run, of any server, to those of an agent: `toView` shows them.
 *
 * <span class="informal">The inverse of `toAgUi`.</span>
 *
 * ![](../../../marbles/fromAgUi.svg)
 *
 * - Text, reasoning, calls (with their fragments) and results become events as they arrive. The messages of a turn are
 *   emitted at its end. Rivulet servers mark turn ends. Elsewhere, a turn ends when content follows results.
 * - RUN_FINISHED becomes the `result`, after which the output completes: `waiting` has the interrupts, and the calls
 *   that the client has to execute. RUN_ERROR is a RemoteRunError.
 * - The events that are not part of a conversation (the state, steps, activities, snapshots, custom events of others)
 *   pass through, and so do RUN_STARTED and RUN_FINISHED, whose `outcome` contains the interrupts as the server
 *   describes them.
 *
 * It is an operator, so the source may be anything: `fetchAgUi`, the `run` of a client's agent, a WebSocket, a log.
 *
 * ```ts
 * fetchAgUi(url, { threadId, runId, messages }).pipe(fromAgUi({ messages }), toView()).subscribe(show);
 * ```
 *
 * @param run `messages`: those of the request, for the names of the calls that a resumed run answers. Default: none.
 * @returns A function that returns an Observable of events. It fails with a RemoteRunError, and with a
 * StreamInterruptedError if the source completes before the end of the run.
 */
export function fromAgUi<E extends { readonly type: string }>({
  messages = [],
}: { readonly messages?: readonly AgUiMessage[] } = {}): OperatorFunction<
  E,
  RunEvent | OfType<Chunk, 'toolCallFragment'> | AgUiOtherEvent
> {
  return createOperator<E, RunEvent | ToolCallFragment | AgUiOtherEvent>((out) => {
    const decoder = new AgUiDecoder(messages);
    return {
      next(event) {
        for (const each of decoder.decode(event)) out.next(each as RunEvent);
        if (decoder.hasFinished) out.complete();
      },
      complete() {
        throw new StreamInterruptedError('the AG-UI server', 'The events ended before the run.');
      },
    };
  });
}
