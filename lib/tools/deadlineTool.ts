import { callToolWrapper } from '../core/callWrapper.js';
import { requireGiven } from '../core/options.js';
import type { Tool } from '../core/tool.js';
import { runTool } from '../operators/execute/runTool.js';
import type { ArgumentsOf, ContextOf } from './wrapTool.js';

/**
 * Limits the total time of a call.
 *
 * <span class="informal">`toolDeadline` for one tool.</span>
 *
 * ![](../../marbles/deadlineTool.svg)
 *
 * When the time has passed, the tool is unsubscribed, its signal is aborted, and the model receives an error with the
 * code `timeout`; the run continues. The progress of the call remains. A `toolDeadline` of the run applies as well.
 * With `retryTool(deadlineTool(tool, ms))` each attempt has this time, with `deadlineTool(retryTool(tool), ms)` all
 * attempts together.
 *
 * ```ts
 * createAgent({ model, tools: [deadlineTool(search, 5_000), report] });
 * ```
 *
 * @param tool The tool. It may be left out.
 * @param deadline The maximum total time of one call, in milliseconds.
 * @returns A tool of the same type. Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `options` if `deadline` is negative or not a number.
 */
export function deadlineTool<T extends Tool>(tool: T, deadline: number): T;
export function deadlineTool(deadline: number): <T extends Tool>(tool: T) => T;
export function deadlineTool(...args: readonly unknown[]) {
  return callToolWrapper(args, withDeadline);
}

function withDeadline(deadline: number) {
  requireGiven('deadline', deadline, 0);
  return <T extends Tool>(tool: T): T =>
    tool.execute
      ? {
          ...tool,
          execute: (args: ArgumentsOf<T>, context: ContextOf<T>) => runTool(tool, args, context, deadline),
        }
      : tool;
}
