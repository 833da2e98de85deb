import type { Tool } from './tool.js';

export interface InnerAgent {
  readonly tools: readonly Tool[];
  readonly orchestrator: string;
}

/** Where agents and the tools that run them have it. A property, because wrappers copy those. */
const innerAgent: unique symbol = Symbol.for('rivulet.innerAgent');

/** The properties with which an agent, or its tool, says what `resume` of an outer run needs to know. */
export const innerAgentProperty = (inner: InnerAgent | undefined): object => (inner ? { [innerAgent]: inner } : {});

/** What an agent, or its tool, says of itself; undefined for any other. */
export const innerAgentOf = (
  value: (object & { readonly [innerAgent]?: InnerAgent }) | undefined,
): InnerAgent | undefined => value?.[innerAgent];
