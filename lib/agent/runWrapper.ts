import type { Tool } from '../core/tool.js';
import type { startRun } from './agentRun.js';

/** Starts a run in another way. */
export type RunWrapper = (start: typeof startRun) => typeof startRun;

/** A property, because wrappers copy those. */
const runWrapper: unique symbol = Symbol.for('rivulet.runWrapper');

/** Lets a tool change the runs of its agent: only who imports the tool has the code for it. */
export const withRunWrapper = <T extends object>(tool: T, wrapper: RunWrapper): T => ({
  ...tool,
  [runWrapper]: wrapper,
});

export const runWrapperOf = (tool: Tool & { readonly [runWrapper]?: RunWrapper }): RunWrapper | undefined =>
  tool[runWrapper];
