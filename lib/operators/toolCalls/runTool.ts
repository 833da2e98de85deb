import { defer, from, identity, map, mergeMap, Observable, of, takeUntil, tap, timer } from 'rxjs';
import type { MonoTypeOperatorFunction, OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { errorText } from '../../core/errors.js';
import type { ToolProgressEvent, ToolResultEvent, ToolStartEvent } from '../../core/event.js';
import type { JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { toolErrorTexts } from '../../core/message.js';
import type { Message, ToolCallPart, ToolErrorCode } from '../../core/message.js';
import { maxTimerDelay } from '../../core/options.js';
import { validate } from '../../core/schema.js';
import type { Validation } from '../../core/schema.js';
import { isInvalidArguments } from '../../core/tool.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { followOutput, isPromiseLike } from './toolOutput.js';
import type { ToolStep } from './toolOutput.js';

/** What one call needs from the run. */
export interface RunToolOptions {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  /** In milliseconds. */
  readonly deadline?: number | undefined;
  /** Cancels the call when it emits. */
  readonly cancelled: Observable<unknown>;
}

/** The events of a call that runs. */
export type RunningToolEvent = ToolStartEvent | ToolProgressEvent | ToolResultEvent;

/**
 * Runs one call: its start, its progress, then exactly one result, whatever happens. Unsubscribing unsubscribes the
 * tool and aborts its signal.
 */
export function runTool(call: ToolCallPart, options: RunToolOptions): Observable<RunningToolEvent> {
  const { tools, messages, deadline, cancelled } = options;
  return defer(() => {
    const tool = toolNamed(tools, call.name);
    return validArguments(tool, call).pipe(mergeMap((args) => execution(tool, args, call, messages)));
  }).pipe(failWhen(cancelled, cancellation), limitTime(deadline), toToolEvents(call));
}

/** A failure with a code of its own. Whatever a tool throws is `failed`. */
class ToolFailure extends Error {
  constructor(
    readonly code: ToolErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const cancellation = () => new ToolFailure('cancelled', toolErrorTexts.cancelled);

function toolNamed(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const tool = tools.get(name);
  if (tool) return tool;
  const available = tools.size > 0 ? `Available: ${[...tools.keys()].join(', ')}.` : 'No tools are available.';
  throw new ToolFailure('unknown_tool', `There is no tool "${name}". ${available}`);
}

/** Synchronous if the schema is: virtual time does not know Promises. */
function validArguments(tool: Tool, call: ToolCallPart): Observable<unknown> {
  if (isInvalidArguments(call.arguments)) {
    throw new ToolFailure('invalid_arguments', 'The arguments are not valid JSON. Send them again as one JSON object.');
  }
  const validation = validate(tool.parameters, call.arguments);
  return (validation instanceof Promise ? from(validation) : of(validation)).pipe(map(validValue));
}

function validValue(validation: Validation<unknown>): unknown {
  if ('invalid' in validation) throw new ToolFailure('invalid_arguments', `Invalid arguments: ${validation.invalid}`);
  return validation.value;
}

/**
 * The tool itself. Its signal is aborted when it is left before its end, also when that happens inside `execute`, and
 * when the signal is read only afterwards.
 */
function execution(tool: Tool, args: unknown, call: ToolCallPart, messages: readonly Message[]): Observable<ToolStep> {
  let controller: AbortController | undefined; // created for a tool that reads its signal
  let left = false;
  const steps = new Observable<ToolStep>((out) => {
    const context: ToolContext = {
      call,
      messages,
      get signal() {
        controller ??= new AbortController();
        if (left) controller.abort();
        return controller.signal;
      },
      progress: (value) => out.next({ type: 'progress', value: toJson(value) }),
    };
    out.next({ type: 'start' });
    if (out.closed) return;
    const output = tool.execute(args, context);
    // A tool that has left is not subscribed. Its Promise is, so that a rejection is not unhandled.
    if (left && !isPromiseLike(output)) return;
    // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
    followOutput(output).subscribe(out);
  });
  return steps.pipe(
    tap({
      unsubscribe() {
        left = true;
        controller?.abort();
      },
    }),
  );
}

/** Fails as soon as the notifier emits. */
function failWhen<T>(notifier: Observable<unknown>, failure: () => ToolFailure): MonoTypeOperatorFunction<T> {
  return takeUntil(
    notifier.pipe(
      map(() => {
        throw failure();
      }),
    ),
  );
}

/**
 * A total deadline: RxJS's `timeout(ms)` restarts with each value, so a tool that keeps reporting progress would never
 * meet it.
 */
function limitTime<T>(deadline = Infinity): MonoTypeOperatorFunction<T> {
  if (deadline === Infinity) return identity;
  return failWhen(
    timer(Math.min(deadline, maxTimerDelay)),
    () => new ToolFailure('timeout', `The tool did not finish within ${deadline} ms.`),
  );
}

/**
 * Turns the steps of a tool into events. A value is held until it is known to be progress: when another value follows,
 * when the tool goes on without one, or when the call ends in an error.
 *
 * The state changes before anything is emitted, since a tool may emit its next value inside the handler of this one.
 */
function toToolEvents(call: ToolCallPart): OperatorFunction<ToolStep, RunningToolEvent> {
  const { id, name } = call;
  return createOperator<ToolStep, RunningToolEvent>((out) => {
    let result: JsonValue = null;
    let isHeld = false;
    const emitProgress = (value: JsonValue) => out.next({ type: 'toolProgress', id, name, value });
    const releaseHeld = () => {
      if (!isHeld) return;
      isHeld = false;
      emitProgress(result);
    };
    return {
      next(step) {
        switch (step.type) {
          case 'start':
            out.next({ type: 'toolStart', id, name, arguments: call.arguments });
            break;
          case 'progress':
            emitProgress(step.value);
            break;
          case 'busy':
            releaseHeld();
            break;
          case 'value': {
            const [previous, wasHeld] = [result, isHeld];
            [result, isHeld] = [step.value, true];
            if (wasHeld) emitProgress(previous);
          }
        }
      },
      error(thrown) {
        releaseHeld();
        const code = thrown instanceof ToolFailure ? thrown.code : 'failed';
        out.next({ type: 'toolResult', id, name, error: errorText(thrown), code });
        out.complete();
      },
      complete() {
        out.next({ type: 'toolResult', id, name, result });
        out.complete();
      },
    };
  });
}
