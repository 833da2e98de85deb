import type { startRun } from './agentRun.js';

/** What a tool brings for the runs of its agent: only who imports the tool has the code for it. */
export interface RunWrapper {
  /** Starts a run in another way. */
  readonly wrap: (start: typeof startRun) => typeof startRun;
  /** The option `awaited` of the tool. */
  readonly isAwaited: boolean;
}

/** A property, because wrappers copy those. */
const runWrapper: unique symbol = Symbol.for('rivulet.runWrapper');

export const withRunWrapper = <T extends object>(tool: T, wrapper: RunWrapper): T => ({
  ...tool,
  [runWrapper]: wrapper,
});

export const runWrapperOf = (tool: (object & { readonly [runWrapper]?: RunWrapper }) | undefined) => tool?.[runWrapper];
