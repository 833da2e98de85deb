import { identity, mergeMap } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { JsonValue } from '../core/json/json.js';
import { progress } from '../core/progress.js';
import type { Progress } from '../core/progress.js';
import type { Tool, ToolContext } from '../core/tool.js';
import { decideResult, execution } from '../operators/toolCalls/execution.js';
import type { ToolStep } from '../operators/toolCalls/toolOutput.js';

/** A value of a running tool: marked progress, or, last, the result. */
export type ToolValue = Progress<JsonValue> | JsonValue;

/** The type of the validated arguments of a tool. */
export type ArgumentsOf<T extends Tool> = Parameters<NonNullable<T['execute']>>[0];

/** The type of the context of a tool. */
export type ContextOf<T extends Tool> = Parameters<NonNullable<T['execute']>>[1];

/**
 * Makes a tool whose calls run through RxJS operators.
 *
 * <span class="informal">A tool made of a tool: `retry`, `timeout` or `catchError` around its execution.</span>
 *
 * `run` is a cold Observable: each subscription executes the tool once, with a signal of its own, which is aborted when
 * it is unsubscribed. It emits progress marked with `progress`, and last the result, as JSON, whatever `execute` of the
 * tool returns. All other fields of the tool are unchanged, and so are the types of its events.
 *
 * ```ts
 * const reliable = wrapTool(search, (run) => run.pipe(catchError(() => searchMirror())));
 * const logged = wrapTool(search, (run, args) => run.pipe(tap({ subscribe: () => console.log('search', args) })));
 * ```
 *
 * @param tool The tool to wrap.
 * @param wrap Returns the Observable of a call from the execution of the tool, the validated arguments, and the context
 * of the call. Marked values are progress, and the last unmarked value is the result.
 * @returns A tool of the same type. Its `execute` returns an Observable. A tool without `execute` is returned
 * unchanged.
 */
export function wrapTool<T extends Tool>(
  tool: T,
  wrap: (run: Observable<ToolValue>, args: ArgumentsOf<T>, context: ContextOf<T>) => Observable<unknown>,
): T {
  if (!tool.execute) return tool;
  return {
    ...tool,
    execute: (args: ArgumentsOf<T>, context: ContextOf<T>) => wrap(executionOf(tool, args, context), args, context),
  };
}

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
  context: ContextOf<Tool>,
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
