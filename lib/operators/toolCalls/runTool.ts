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
import { invalidArgumentsTexts, isInvalidArguments } from '../../core/tool.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { followOutput, isPromiseLike } from './toolOutput.js';
import type { ToolStep } from './toolOutput.js';

/** The settings that one call takes from the run. */
export interface RunToolOptions {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  /** The maximum total time of the call, in milliseconds. */
  readonly deadline?: number | undefined;
  /** Cancels the call when it emits. */
  readonly cancelled: Observable<unknown>;
}

/** The events of a call that runs. */
export type RunningToolEvent = ToolStartEvent | ToolProgressEvent | ToolResultEvent;

/**
 * Runs one call: emits its start, its progress, and exactly one result, even if the tool fails. Unsubscribing
 * unsubscribes the tool and aborts its signal.
 */
export function runTool(call: ToolCallPart, options: RunToolOptions): Observable<RunningToolEvent> {
  const { tools, messages, deadline, cancelled } = options;
  return defer(() => {
    const tool = toolNamed(tools, call.name);
    return validArguments(tool, call).pipe(mergeMap((args) => execution(tool, args, call, messages)));
  }).pipe(failWhen(cancelled, cancellation), limitTime(deadline), toToolEvents(call));
}

/** A failure with a specific code. Any other exception has the code `failed`. */
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

/**
 * Synchronous if the schema is synchronous: a Promise would delay the call, and virtual time does not control Promises.
 */
function validArguments(tool: Tool, call: ToolCallPart): Observable<unknown> {
  if (isInvalidArguments(call.arguments)) {
    throw new ToolFailure('invalid_arguments', invalidArgumentsTexts[call.arguments._error]);
  }
  const validation = validate(tool.parameters, call.arguments);
  return (validation instanceof Promise ? from(validation) : of(validation)).pipe(map(validValue));
}

function validValue(validation: Validation<unknown>): unknown {
  if ('invalid' in validation) throw new ToolFailure('invalid_arguments', `Invalid arguments: ${validation.invalid}`);
  return validation.value;
}

/**
 * Executes the tool. If the call is unsubscribed before the tool ends, its signal is aborted, even if this happens
 * inside `execute`, or if the tool reads the signal only afterwards.
 */
function execution(tool: Tool, args: unknown, call: ToolCallPart, messages: readonly Message[]): Observable<ToolStep> {
  let controller: AbortController | undefined; // created only if the tool reads its signal
  let isUnsubscribed = false;
  const steps = new Observable<ToolStep>((out) => {
    const context: ToolContext = {
      call,
      messages,
      get signal() {
        controller ??= new AbortController();
        if (isUnsubscribed) controller.abort();
        return controller.signal;
      },
      progress: (value) => out.next({ type: 'progress', value: toJson(value) }),
    };
    out.next({ type: 'start' });
    if (out.closed) return;
    const output = tool.execute(args, context);
    // If the call was unsubscribed inside `execute`, its output is not subscribed. A Promise is, so that a rejection of
    // it is not unhandled.
    if (isUnsubscribed && !isPromiseLike(output)) return;
    // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
    followOutput(output).subscribe(out);
  });
  return steps.pipe(
    tap({
      unsubscribe() {
        isUnsubscribed = true;
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
 * Limits the total time. RxJS's `timeout(ms)` restarts with each value, so a tool that keeps reporting progress would
 * never time out.
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
 * when the tool continues to run after it, or when the call fails.
 *
 * The state changes before anything is emitted, because the handler of an event may make the tool emit its next value.
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
        out.next({ type: 'toolResult', id, name, error: errorText(thrown), code: codeOf(thrown) });
        out.complete();
      },
      complete() {
        out.next({ type: 'toolResult', id, name, result });
        out.complete();
      },
    };
  });
}

/** A tool may throw anything, also a Proxy: `instanceof` then throws what the Proxy's trap throws. */
function codeOf(thrown: unknown): ToolErrorCode {
  try {
    return thrown instanceof ToolFailure ? thrown.code : 'failed';
  } catch {
    return 'failed';
  }
}
