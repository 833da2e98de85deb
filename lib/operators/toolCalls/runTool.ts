import { defer, mergeMap } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { errorText } from '../../core/errors.js';
import type { ToolProgressEvent, ToolResultEvent, ToolStartEvent, ToolUsageEvent } from '../../core/event.js';
import type { Message, ToolCallPart } from '../../core/message.js';
import { timeLimit } from '../../core/timeLimit.js';
import type { Tool } from '../../core/tool.js';
import { decideResult, execution } from './execution.js';
import type { ExecutionStep } from './execution.js';
import { cancellation, codeOf, failWhen, ToolFailure } from './toolFailure.js';
import { validArguments } from './validArguments.js';

/** The settings that one call takes from the run. */
export interface RunToolOptions {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  /** The user's own value. */
  readonly context: unknown;
  /** The maximum total time of the call, in milliseconds. */
  readonly deadline?: number | undefined;
  /** Cancels the call when it emits. */
  readonly cancelled: Observable<unknown>;
}

/** The events of a call that runs. */
export type RunningToolEvent = ToolStartEvent | ToolProgressEvent | ToolUsageEvent | ToolResultEvent;

/**
 * Runs one call: emits its start, its progress, and exactly one result, even if the tool fails. Unsubscribing
 * unsubscribes the tool and aborts its signal.
 */
export function runTool(call: ToolCallPart, options: RunToolOptions): Observable<RunningToolEvent> {
  const { tools, messages, context, deadline, cancelled } = options;
  return defer(() => {
    const tool = toolNamed(tools, call.name);
    return validArguments(tool, call).pipe(mergeMap((args) => execution(tool, args, { call, messages, context })));
  }).pipe(failWhen(cancelled, cancellation), timeLimit('tool', deadline), decideResult(), toToolEvents(call));
}

function toolNamed(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const tool = tools.get(name);
  if (tool) return tool;
  const available = tools.size > 0 ? `Available: ${[...tools.keys()].join(', ')}.` : 'No tools are available.';
  throw new ToolFailure('unknown_tool', `There is no tool "${name}". ${available}`);
}

/** Turns the steps of a call into its events. A failure becomes a result with an error. */
function toToolEvents(call: ToolCallPart): OperatorFunction<ExecutionStep, RunningToolEvent> {
  const { id, name } = call;
  return createOperator<ExecutionStep, RunningToolEvent>((out) => ({
    next(step) {
      switch (step.type) {
        case 'start':
          out.next({ type: 'toolStart', id, name, arguments: call.arguments });
          break;
        case 'progress':
          out.next({ type: 'toolProgress', id, name, value: step.value });
          break;
        case 'usage':
          out.next({ type: 'toolUsage', id, name, usage: step.usage });
          break;
        case 'result':
          out.next({ type: 'toolResult', id, name, result: step.value });
      }
    },
    error(thrown) {
      out.next({ type: 'toolResult', id, name, error: errorText(thrown), code: codeOf(thrown) });
      out.complete();
    },
  }));
}
