import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { AgUiEncoder, type AgUiRun, type ToAgUiOptions } from './encoder.js';
import type { AgUiEvent } from '../../transport/agUi/protocol.js';

/**
 * Converts the events of a run to events of AG-UI 1.0, which its clients (CopilotKit, `HttpAgent`) show.
 *
 * <span class="informal">`agent.stream`, translated to AG-UI.</span>
 *
 * ![](../../../marbles/toAgUi.svg)
 *
 * - The first event is RUN_STARTED, and the last one RUN_FINISHED or RUN_ERROR, after which the output completes. It
 *   does not fail. A run that was stopped, or ended by an operator such as `take`, is `cancelled`.
 * - Text, reasoning, calls and their results become messages, whose ids are those of the run with a number. With the
 *   option `fragments` of the run, arguments are sent as they arrive.
 * - Calls that need an approval become interrupts, and calls of tools that the client executes `pendingToolCallIds`.
 * - The run of a sub-agent (`agentTool`) starts with SUBAGENT_STARTED, and ends with SUBAGENT_FINISHED, which says
 *   whether it is suspended, or SUBAGENT_ERROR. Its events are CUSTOM events named `rivulet.nested`.
 * - `retract` becomes a MESSAGES_SNAPSHOT without the messages of the turn, so the client needs nothing but AG-UI.
 * - Events for which AG-UI has no type (progress, sources, files, metadata, retries, your own events) become CUSTOM
 *   events, named `rivulet.` and the type of the event. Checkpoints are not sent.
 *
 * ```ts
 * agent.stream(question, { fragments: true }).pipe(toAgUi({ threadId, runId, messages })).subscribe(send);
 * ```
 *
 * @param run `threadId`, `runId`, `messages` and `tools` of the request: pass the request itself.
 * @param options `clientTools` (default: none), `describeCall`, `describeError` (default: no details of the server),
 * `onError`.
 * @returns A function that returns an Observable of AG-UI events.
 */
export function toAgUi<E extends StreamEvent>(
  run: AgUiRun,
  options: ToAgUiOptions = {},
): OperatorFunction<E, AgUiEvent> {
  return createOperator<E, AgUiEvent>((out) => {
    const encoder = new AgUiEncoder(run, options);
    const emit = (events: readonly AgUiEvent[]) => {
      for (const event of events) out.next(event);
    };
    emit(encoder.start());
    return {
      next: (event) => emit(encoder.next(event)),
      error(thrown) {
        emit(encoder.error(thrown));
        out.complete();
      },
      complete() {
        emit(encoder.complete());
        out.complete();
      },
    };
  });
}
