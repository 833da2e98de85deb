import { mayAskInside } from '../core/askingTool.js';
import { callToolWrapper } from '../core/callWrapper.js';
import { HeldPlace } from '../core/heldPlace.js';
import { requireGiven } from '../core/options.js';
import { createSemaphore } from '../core/semaphore.js';
import type { Tool } from '../core/tool.js';
import { runTool } from '../operators/execute/runTool.js';
import type { ArgumentsOf, ContextOf } from './wrapTool.js';

export interface LimitToolOptions {
  /** The maximum number of calls that run at a time, in all runs together. */
  readonly concurrency: number;
}

/**
 * Limits how many calls of a tool run at a time.
 *
 * <span class="informal">At most two queries at once, however many runs there are.</span>
 *
 * ![](../../marbles/limitTool.svg)
 *
 * The limit is shared by all runs that use the returned tool, in addition to `toolConcurrency`, which is a limit of one
 * run over all of its tools. A call that has to wait starts when an earlier call has ended; calls start in the order in
 * which they were made. A call that is cancelled while it waits gives up its place. The time in which a call waits
 * counts towards `toolDeadline`; put `deadlineTool` inside to exclude it: `limitTool(deadlineTool(tool, 5_000), ...)`.
 *
 * A call that asks (`askTool`, a tool of an MCP server, a sub-agent) keeps its place while a person is asked in memory
 * (`patience`). The calls that wait for the place may wait for that person, so their time does not count for
 * `toolDeadline` and `toolConcurrency`.
 *
 * ```ts
 * const query = limitTool(queryDatabase, { concurrency: 2 });
 * createAgent({ model, tools: [query], toolConcurrency: 8 });
 * ```
 *
 * @param tool The tool. It may be left out.
 * @param options `concurrency`.
 * @returns A tool of the same type. Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `options` if `concurrency` is less than 1.
 */
export function limitTool<T extends Tool>(tool: T, options: LimitToolOptions): T;
export function limitTool(options: LimitToolOptions): <T extends Tool>(tool: T) => T;
export function limitTool(...args: readonly unknown[]) {
  return callToolWrapper(args, limited);
}

function limited({ concurrency }: LimitToolOptions) {
  requireGiven('concurrency', concurrency, 1);
  return <T extends Tool>(tool: T): T => {
    if (!tool.execute) return tool;
    const semaphore = createSemaphore(concurrency); // each tool has a limit of its own
    return {
      ...tool,
      execute(args: ArgumentsOf<T>, context: ContextOf<T>) {
        const { outer, work = outer } = context;
        if (!outer || !work || !mayAskInside(tool)) return runTool(tool, args, context).pipe(semaphore.limit());
        const place = new HeldPlace(semaphore, outer, work);
        return place.limit(runTool(tool, args, { ...context, work: place }));
      },
    };
  };
}
