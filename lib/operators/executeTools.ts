import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { RunEvent, StreamEvent, ToolCallEvent } from '../core/event.js';
import type { EventsOf, Tool, UserContextOf } from '../core/tool.js';
import { TurnTools, type ExecuteToolsOptions } from './execute/turnTools.js';
import type { OfType } from '../core/typesOf.js';

export type { ExecuteToolsOptions } from './execute/turnTools.js';

/**
 * Runs the tool calls of the turn's message, and emits their results as one message.
 *
 * <span class="informal">The model calls your functions and receives their results.</span>
 *
 * ![](../../marbles/executeTools.svg)
 *
 * A call emits `toolStart`, any number of `toolProgress`, and one `toolResult`. `execute` may return a value, a
 * Promise, an Observable or a generator: see `ToolOutput` for which values are progress and which is the result. An
 * unknown tool, invalid arguments, an exception, a result that JSON cannot represent, or a missed deadline each become
 * a `toolResult` with `error` and `code`; the other calls of the turn are not affected. The message with the results,
 * in the order of the calls, is emitted before the `finish`, which is held until then.
 *
 * A finish reason of `length`, `contentFilter`, `error` or `stopped` vetoes execution: each call gets a `not_executed`
 * result. With `eager`, calls that have ended keep their results, and a running call is aborted and gets a `cancelled`
 * result.
 *
 * When `stop` emits, the calls are answered in the same way, and the finish reason becomes `stopped`. It has no effect
 * on a turn without calls: apply `stopOn` to the model's stream.
 *
 * When `cancel` emits the id of a call, only this call is aborted and answered as `cancelled`.
 *
 * ![](../../marbles/executeTools.approve.svg)
 *
 * A call of a tool with `needsApproval` emits `toolWaiting` and waits for `approve`; a denied call gets a `denied`
 * result. `concurrency` and `deadline` apply from the decision on, and other calls run meanwhile. If there is no
 * `approve`, or the tool has no `execute`, the turn ends when all other calls have ended: with an `openCalls` event
 * instead of the results' message and the `finish`.
 *
 * Unsubscribing unsubscribes the running tools and aborts their signals. If the source completes without a `finish`, no
 * call is started, and tools that `eager` has started are unsubscribed. `retract` unsubscribes running tools and
 * discards their results.
 *
 * ```ts
 * model.stream(request).pipe(
 *   accumulateToolCalls(),
 *   consolidate(),
 *   executeTools([weather, add], { concurrency: Infinity, deadline: 10_000 }),
 * );
 * ```
 *
 * @param tools The tools that can be called. If two tools have the same name, the output fails with a
 * ConfigurationError.
 * @param options `messages`, `context`, `idempotencyPrefix` (default: random), `concurrency` (default: 1), `eager`
 * (default: false), `deadline` in milliseconds (default: none), `stop` (default: never), `cancel` (default: no call),
 * `approve` (default: calls that need an approval wait), `checkpoints` (default: false), `resumed` (default: no turn is
 * resumed).
 * @returns A function that returns an Observable of the source's events, the events of the calls, and the results'
 * message.
 */
export function executeTools<E extends StreamEvent, const T extends readonly Tool[]>(
  tools: T,
  options?: ExecuteToolsOptions<UserContextOf<T[number]>>,
): OperatorFunction<E, Exclude<E, ToolCallEvent> | EventsOf<T[number]> | OfType<RunEvent, 'message'>>;
export function executeTools(
  tools: readonly Tool[],
  options: ExecuteToolsOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new TurnTools(out, tools, options));
}
