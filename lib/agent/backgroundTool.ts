import { callToolWrapper } from '../core/callWrapper.js';
import { toolsError } from '../core/errors.js';
import { requireOptions } from '../core/requireOptions.js';
import type { Tool } from '../core/tool.js';
import { wrap } from './background/backgroundRun.js';
import { withRunWrapper } from './runWrapper.js';

export interface BackgroundToolOptions {
  /** Whether a run that would end waits for the result, and continues with it. Default: true. */
  readonly awaited?: boolean | undefined;
}

/**
 * Makes a tool whose calls run in the background: the model has a handle at once, and goes on.
 *
 * <span class="informal">The research goes on while the model answers, and joins the run when it is done.</span>
 *
 * ![](../../marbles/backgroundTool.svg)
 *
 * A call is answered with a handle, `{ handle, status: 'running' }`, whose `handle` is the id of the call. Its work is
 * part of the run: it emits `toolProgress`, `toolUsage` and `nested` events with the id of the call, and unsubscribing
 * the run unsubscribes it. Its result, or its error, joins the run as a prompt does, at the end of a turn: as a user
 * message whose `metadata.background` is the `toolResult`. A run that would end waits for it and continues.
 *
 * - `cancel` with the id of the call ends its work, and `stop` ends all. The model is told, as with any result.
 * - At a limit (`maxTurns`, `stopWhen`), what still runs is cancelled, and the history says so.
 * - Checkpoints have the work. A run that is resumed begins it again, with the same `idempotencyKey`: an agent
 *   continues from its own checkpoint, and an `askTool` has what it has recorded. A result that has not joined yet
 *   joins once.
 * - Questions and approvals inside of the work are those of the run. A run that has nothing else to do ends as
 *   `waiting`.
 * - The work does not count for `toolConcurrency` and `toolDeadline`. Wrappers, on either side, apply to the work:
 *   `deadlineTool`, `limitTool`, `retryTool`.
 *
 * ```ts
 * const research = backgroundTool(agentTool(researcher, { name: 'research', description: 'Takes minutes.' }));
 * const agent = createAgent({ model, tools: [research] });
 * ```
 *
 * @param tool The tool, with `execute`; one of `agentTool` or `askTool`, too. It may be left out.
 * @param options `awaited`: whether a run that would end waits for the result (default: true). Otherwise the work is
 * cancelled when the run ends.
 * @returns A tool of the same type. It needs to be one of the `tools` of an agent: elsewhere it runs in the foreground.
 * Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `tools` for a tool without `execute`, and `options` for what TypeScript rejects.
 */
export function backgroundTool<T extends Tool>(tool: T, options?: BackgroundToolOptions): T;
export function backgroundTool(options?: BackgroundToolOptions): <T extends Tool>(tool: T) => T;
export function backgroundTool(...args: readonly unknown[]) {
  return callToolWrapper(args, inBackground);
}

const inBackground = (options: BackgroundToolOptions = {}) => {
  requireOptions('backgroundTool', options, { awaited: 'boolean' });
  const { awaited: isAwaited = true } = options;
  return <T extends Tool>(tool: T): T => {
    if (!tool.execute) throw notExecuted(tool);
    return withRunWrapper(tool, { wrap, isAwaited });
  };
};

const notExecuted = ({ name }: Tool) =>
  toolsError(
    `The tool "${name}" has no \`execute\`, so it cannot run in the background.`,
    'A call of such a tool waits for its result: pass that to agent.resume.',
  );
