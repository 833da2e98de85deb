import { innerAgentOf } from './innerAgent.js';
import type { Tool } from './tool.js';

/** A property, because wrappers copy those. */
const asks: unique symbol = Symbol.for('rivulet.asks');

/** Marks a tool whose calls may wait for a person after they have begun. */
export const markAsking = <T extends object>(tool: T): T => ({ ...tool, [asks]: true });

export const isAsking = (tool: Tool & { readonly [asks]?: boolean }): boolean => tool[asks] === true;

/** Whether a tool, or at any depth a tool of the agent that it runs, asks. */
export const asksInside = (tool: Tool): boolean =>
  isAsking(tool) || (innerAgentOf(tool)?.tools.some(asksInside) ?? false);
