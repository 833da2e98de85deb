import type { Tool } from './tool.js';

export interface InnerAgent {
  readonly tools: readonly Tool[];
  readonly orchestrator: string;
  /** The name of the tool that runs it. Absent for the agent itself. */
  readonly name?: string;
}

/** A property, because wrappers copy those. */
const innerAgent: unique symbol = Symbol.for('rivulet.innerAgent');

/** What `resume` of an outer run needs to know of an agent or its tool. Undefined: nothing is known of the agent. */
export const innerAgentProperty = (inner: InnerAgent | undefined): object => ({ [innerAgent]: inner });

export const innerAgentOf = (
  value: (object & { readonly [innerAgent]?: InnerAgent }) | undefined,
): InnerAgent | undefined => value?.[innerAgent];
