import type { Observable } from 'rxjs';
import type { Tool } from '../core/tool.js';
import { executionOf } from '../operators/toolCalls/executionOf.js';
import type { ToolValue } from '../operators/toolCalls/executionOf.js';

export type { ToolValue } from '../operators/toolCalls/executionOf.js';

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
