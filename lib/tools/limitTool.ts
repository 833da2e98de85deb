import { concat, defer, noop, Observable } from 'rxjs';
import { mayAskInside } from '../core/askingTool.js';
import { callToolWrapper } from '../core/callWrapper.js';
import type { OuterRun } from '../core/nested.js';
import { requireGiven } from '../core/options.js';
import { createSemaphore, type Semaphore } from '../core/semaphore.js';
import type { Tool } from '../core/tool.js';
import { wrapTool, type ToolValue } from './wrapTool.js';

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
 * A call that asks (`askTool`, a tool of an MCP server, a sub-agent) keeps its place while a person is asked. The calls
 * that wait for the place may wait for that person, so their time does not count for `toolDeadline` and
 * `toolConcurrency`.
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
    const semaphore = createSemaphore(concurrency); // each tool has a limit of its own
    return wrapTool(tool, (run, _args, { outer }) =>
      outer && mayAskInside(tool) ? limitAsking(run, semaphore, outer) : run.pipe(semaphore.limit()),
    );
  };
}

/** A call that waits lets others go on; answered, it needs a place of the tool and one of the run. */
function limitAsking(run: Observable<ToolValue>, semaphore: Semaphore, outer: OuterRun): Observable<ToolValue> {
  return new Observable((out) => {
    const place = { isPaused: false, isGranted: false };
    const proceeded = new Observable<never>((begin) => outer.proceed(place, () => begin.complete()));
    const granted = defer(() => {
      place.isGranted = true;
      return place.isPaused ? concat(proceeded, run) : run;
    });
    out.add(granted.pipe(semaphore.limit()).subscribe(out));
    if (place.isGranted || out.closed) return;
    place.isPaused = true;
    out.add(() => {
      if (!place.isGranted) outer.proceed(place, noop); // the call may go on without the tool
    });
    outer.pause(place);
  });
}
