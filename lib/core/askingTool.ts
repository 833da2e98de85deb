import { innerAgentOf } from './innerAgent.js';
import type { Tool } from './tool.js';

/** The `orchestrator` of the questions of a call. */
export const ASKED_CALL = 'askTool';

/** A property, because wrappers copy those. `maybe`: only its server knows. */
const asks: unique symbol = Symbol.for('rivulet.asks');

type Asks = true | 'maybe';

/** Marks a tool whose calls wait, or may wait, for a person after they have begun. */
export const markAsking = <T extends object>(tool: T, mark: Asks = true): T => ({ ...tool, [asks]: mark });

const marked = (tool: Tool & { readonly [asks]?: Asks }): Asks | undefined => tool[asks];

/** Whether nobody but its server knows if a tool asks. */
export const maybeAsks = (tool: Tool): boolean => marked(tool) === 'maybe';

/** Whether a tool, or at any depth a tool of the agent that it runs, asks. */
export const asksInside = (tool: Tool): boolean =>
  marked(tool) === true || (innerAgentOf(tool)?.tools.some(asksInside) ?? false);

/** Whether a call may wait for a person after it has begun. */
export const mayAskInside = (tool: Tool): boolean => {
  const mayWait = (inner: Tool) => Boolean(inner.needsApproval) || !inner.execute || mayAskInside(inner);
  return marked(tool) !== undefined || (innerAgentOf(tool)?.tools.some(mayWait) ?? false);
};
