import type { Observable } from 'rxjs';
import { callToolWrapper } from '../core/callWrapper.js';
import type { Tool } from '../core/tool.js';
import { runTool, type ToolValue } from '../operators/execute/runTool.js';

export type { ToolValue } from '../operators/execute/runTool.js';

export type ArgumentsOf<T extends Tool> = Parameters<NonNullable<T['execute']>>[0];

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
 * @param tool The tool to wrap. It may be left out.
 * @param wrap Returns the Observable of a call from the execution of the tool, the validated arguments, and the context
 * of the call. Marked values are progress, and the last unmarked value is the result.
 * @returns A tool of the same type. Its `execute` returns an Observable. A tool without `execute` is returned
 * unchanged. Without `tool`, a function of a tool, for rxjs's `pipe`.
 */
export function wrapTool<T extends Tool>(
  tool: T,
  wrap: (run: Observable<ToolValue>, args: ArgumentsOf<T>, context: ContextOf<T>) => Observable<unknown>,
): T;
export function wrapTool(
  wrap: (run: Observable<ToolValue>, args: unknown, context: ContextOf<Tool>) => Observable<unknown>,
): <T extends Tool>(tool: T) => T;
export function wrapTool(...args: readonly unknown[]) {
  return callToolWrapper(args, wrapped);
}

type Wrap = (run: Observable<ToolValue>, args: unknown, context: ContextOf<Tool>) => Observable<unknown>;

const wrapped =
  (wrap: Wrap) =>
  <T extends Tool>(tool: T): T =>
    tool.execute
      ? {
          ...tool,
          execute: (args: ArgumentsOf<T>, context: ContextOf<T>) => wrap(runTool(tool, args, context), args, context),
        }
      : tool;
