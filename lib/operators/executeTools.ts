import type { ObservableInput, OperatorFunction } from 'rxjs';
import { vetoReasons } from '../core/chunk.js';
import type { FinishChunk } from '../core/chunk.js';
import type { Approve } from '../core/approval.js';
import type { OpenCallsEvent, ResumedTurn } from '../core/checkpoint.js';
import { createOperator } from '../core/createOperator.js';
import { ConfigurationError } from '../core/errors.js';
import type { MessageEvent, StreamEvent, ToolCallEvent } from '../core/event.js';
import { isFinish, isModelMessage, isRetract, isToolCall } from '../core/eventGuards.js';
import { omitUndefined } from '../core/json/json.js';
import { toolCallsOf } from '../core/message.js';
import type { Message, ToolCallPart } from '../core/message.js';
import { onFirstValue } from '../core/notifier.js';
import { requireNumber } from '../core/options.js';
import type { EventsOf, Tool, UserContextOf } from '../core/tool.js';
import { startRound } from './toolCalls/toolRound.js';
import type { CallsOfRound } from './toolCalls/toolRound.js';

/** Options of `executeTools`. `C` is the type of the user's own value. */
export interface ExecuteToolsOptions<C = unknown> {
  /** The conversation, for the tools' context. Default: none. */
  readonly messages?: readonly Message[] | undefined;
  /**
   * The maximum number of calls that run at a time. Default: 1, so calls run one after the other, in order. With
   * `Infinity`, all calls run at once.
   */
  readonly concurrency?: number | undefined;
  /**
   * Whether a call starts as soon as it is complete, while the model still streams. Default: false, so the model's
   * connection is closed before the first tool runs.
   */
  readonly eager?: boolean | undefined;
  /** The maximum total time of one call, in milliseconds. Default: no deadline. */
  readonly deadline?: number | undefined;
  /** The user's own value, for the tools' context. Default: undefined. */
  readonly context?: C | undefined;
  /** Stops the calls with its first value. Default: never. */
  readonly stop?: ObservableInput<unknown> | undefined;
  /** Decides about calls of tools with `needsApproval`. Default: such a call waits, and the run ends. */
  readonly approve?: Approve | undefined;
  /** Whether an `openCalls` event follows the model's message and each result, for checkpoints. Default: false. */
  readonly checkpoints?: boolean | undefined;
  /** The open turn that is resumed: what it has recorded is not repeated. Default: none. */
  readonly resumed?: ResumedTurn | undefined;
}

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
 * @param options `messages`, `context`, `concurrency` (default: 1), `eager` (default: false), `deadline` in
 * milliseconds (default: none), `stop` (default: never), `approve` (default: calls that need an approval wait),
 * `checkpoints` (default: false), `resumed` (default: no turn is resumed).
 * @returns A function that returns an Observable of the source's events, the events of the calls, and the results'
 * message.
 */
export function executeTools<E extends StreamEvent, const T extends readonly Tool[]>(
  tools: T,
  options?: ExecuteToolsOptions<UserContextOf<T[number]>>,
): OperatorFunction<E, Exclude<E, ToolCallEvent> | EventsOf<T[number]> | MessageEvent>;
export function executeTools(
  tools: readonly Tool[],
  options: ExecuteToolsOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const { eager = false, concurrency = 1, deadline, messages = [], context, stop } = options;
    const { approve, checkpoints = false, resumed } = options;
    requireNumber('concurrency', concurrency, 1);
    if (deadline !== undefined) requireNumber('deadline', deadline, 0);
    const changed = checkpoints ? (state: CallsOfRound) => emitOpenCalls(state, false) : undefined;
    const settings = { tools: toolsByName(tools), messages, context, deadline, concurrency, approve, changed };
    let round = startRound(out, { ...settings, resumed });
    let calls: readonly ToolCallPart[] = [];
    let finish: FinishChunk | undefined;
    let isStopped = false;
    let sourceEnded = false;
    const startOver = () => {
      const retracted = finish;
      finish = undefined;
      calls = [];
      round.unsubscribe();
      round = startRound(out, settings);
      if (retracted) out.next(retracted); // so that the turn includes its usage
    };
    if (stop) {
      onFirstValue(out, stop, () => {
        isStopped = true;
        round.veto();
      });
    }
    /** Before the source has ended, the model's message may be incomplete: there is nothing to resume yet. */
    const emitOpenCalls = (state: CallsOfRound, waits: boolean) => {
      if (finish && sourceEnded && calls.length > 0) out.next(openCalls(finish, state, waits));
    };
    const endTurn = (heldFinish: FinishChunk, state: CallsOfRound) => {
      if (state.waiting.size > 0) {
        emitOpenCalls(state, true);
      } else {
        const parts = calls.flatMap(({ id }) => state.results.get(id) ?? []);
        if (parts.length > 0) out.next({ type: 'message', message: { role: 'user', parts } } as MessageEvent);
        out.next(isStopped && calls.length > 0 ? stoppedFinish(heldFinish) : heldFinish);
      }
      out.complete();
    };
    return {
      next(event) {
        if (isFinish(event)) {
          finish ??= event;
          return;
        }
        if (isRetract(event)) startOver();
        if (isModelMessage(event)) calls = [...calls, ...toolCallsOf(event.message)];
        // Read before the event is emitted: a handler may push a `retract` into the source, which starts another round.
        const { begin } = round;
        out.next(event);
        if (eager && !isStopped && isToolCall(event)) begin(event);
      },
      afterTeardown() {
        if (!finish) {
          round.unsubscribe();
          out.complete();
          return;
        }
        sourceEnded = true;
        if (isStopped || vetoReasons.has(finish.reason)) round.veto();
        if (!resumed) changed?.(round.calls);
        calls.forEach(round.begin);
        const heldFinish = finish;
        round.end((state) => endTurn(heldFinish, state));
      },
    };
  });
}

/** The finish of a turn whose calls were stopped. Another reason that vetoes execution remains. */
function stoppedFinish(finish: FinishChunk): FinishChunk {
  if (vetoReasons.has(finish.reason)) return finish;
  const { rawReason: _, ...rest } = finish;
  return { ...rest, reason: 'stopped' };
}

function openCalls({ reason, rawReason, usage }: FinishChunk, calls: CallsOfRound, waits: boolean): OpenCallsEvent {
  const [results, waiting] = [[...calls.results.values()], [...calls.waiting.values()]];
  const finish = { reason, ...omitUndefined({ rawReason, usage }) };
  return { type: 'openCalls', waits, open: { messages: [], finish, results, waiting } };
}

function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size === tools.length) return byName;
  const duplicate = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) < index);
  throw new ConfigurationError(
    'tools',
    `Two tools are named "${duplicate?.name}".`,
    'A model identifies tools by name only: rename one of them.',
  );
}
