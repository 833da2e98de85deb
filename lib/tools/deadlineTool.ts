import { requireNumber } from '../core/options.js';
import type { Tool } from '../core/tool.js';
import { executionOf } from '../operators/toolCalls/executionOf.js';
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
 * @param tool The tool.
 * @param deadline The maximum total time of one call, in milliseconds.
 * @returns A tool of the same type.
 * @throws ConfigurationError `options` if `deadline` is negative or not a number.
 */
export function deadlineTool<T extends Tool>(tool: T, deadline: number): T {
  requireNumber('deadline', deadline, 0);
  if (!tool.execute) return tool;
  return {
    ...tool,
    execute: (args: ArgumentsOf<T>, context: ContextOf<T>) => executionOf(tool, args, context, deadline),
  };
}
