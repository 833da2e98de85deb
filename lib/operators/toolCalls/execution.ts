import { identity, mergeMap, Observable, tap } from 'rxjs';
import type { MonoTypeOperatorFunction, OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import type { JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { progress } from '../../core/progress.js';
import type { Progress } from '../../core/progress.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import type { Usage } from '../../core/usage.js';
import { followOutput, isPromiseLike } from './toolOutput.js';
import type { ToolStep } from './toolOutput.js';

/** A step of a call whose values are decided: any number of `progress`, and one `result`, last. */
export type ExecutionStep =
  | { readonly type: 'start' }
  | { readonly type: 'progress'; readonly value: JsonValue }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'result'; readonly value: JsonValue };

/**
 * Executes a tool. If it is unsubscribed before the tool ends, the tool's signal is aborted, even if this happens
 * inside `execute`, or if the tool reads the signal only afterwards.
 *
 * @param tool The tool.
 * @param args The validated arguments.
 * @param context The tool's context; the signal and the functions are added.
 */
export function execution(
  tool: Tool,
  args: unknown,
  context: Omit<ToolContext, 'signal' | 'progress' | 'usage'>,
): Observable<ToolStep> {
  let controller: AbortController | undefined; // created only if the tool reads its signal
  let isUnsubscribed = false;
  const steps = new Observable<ToolStep>((out) => {
    const toolContext: ToolContext = {
      ...context,
      get signal() {
        controller ??= new AbortController();
        if (isUnsubscribed) controller.abort();
        return controller.signal;
      },
      progress: (value) => out.next({ type: 'progress', value: toJson(value) }),
      usage: (usage) => out.next({ type: 'usage', usage }),
    };
    out.next({ type: 'start' });
    if (out.closed) return;
    const output = tool.execute?.(args, toolContext);
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

/**
 * Decides which values of a tool are progress and which is the result. A value is held until it is known to be
 * progress: when another value follows, when the tool continues to run after it, or when the call fails.
 *
 * The state changes before anything is emitted, because the handler of an event may make the tool emit its next value.
 */
export function decideResult(): OperatorFunction<ToolStep, ExecutionStep> {
  return createOperator<ToolStep, ExecutionStep>((out) => {
    let result: JsonValue = null;
    let isHeld = false;
    const emitProgress = (value: JsonValue) => out.next({ type: 'progress', value });
    const releaseHeld = () => {
      if (!isHeld) return;
      isHeld = false;
      emitProgress(result);
    };
    return {
      next(step) {
        switch (step.type) {
          case 'start':
          case 'progress':
          case 'usage':
            out.next(step);
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
        out.error(thrown);
      },
      complete() {
        out.next({ type: 'result', value: result });
        out.complete();
      },
    };
  });
}

/** A value of a running tool: marked progress, or, last, the result. */
export type ToolValue = Progress<JsonValue> | JsonValue;

/**
 * One execution of a tool.
 *
 * @param tool The tool.
 * @param args The validated arguments.
 * @param context The context of the call.
 * @param limit An operator over the steps of the execution. If it fails, a value that is held is emitted as progress.
 * Default: none.
 */
export function executionOf(
  tool: Tool,
  args: unknown,
  context: Parameters<NonNullable<Tool['execute']>>[1],
  limit: MonoTypeOperatorFunction<ToolStep> = identity,
): Observable<ToolValue> {
  const { signal: _, progress: _progress, usage, ...rest } = context as ToolContext;
  return execution(tool, args, rest).pipe(
    limit,
    decideResult(),
    mergeMap((step): readonly ToolValue[] => {
      switch (step.type) {
        case 'progress':
          return [progress(step.value)];
        case 'result':
          return [step.value];
        case 'usage':
          usage(step.usage);
          return [];
        case 'start':
          return [];
      }
    }),
  );
}
