import { EMPTY, type Observable } from 'rxjs';
import type { RunOptions } from '../../agent/createAgent.js';
import type { Tool } from '../../core/tool.js';

/** Wraps the turns of a run. */
export type WrapTurn = NonNullable<RunOptions['wrapTurn']>;

/** Wraps turns by both, where given. */
export function wrapBoth(outer: WrapTurn | undefined, inner: WrapTurn | undefined): WrapTurn | undefined {
  if (!inner) return outer;
  return outer ? (turn) => outer(inner(turn)) : inner;
}

/** The functions of an agent that `agentTool` calls. */
interface AgentFunctions {
  readonly stream: (input: unknown, options: InnerRunOptions) => Observable<never>;
  readonly resume?: (checkpoint: unknown, options: InnerRunOptions) => Observable<never>;
}

interface InnerRunOptions {
  readonly wrapTurn?: WrapTurn | undefined;
}

/** Wraps the turns of the runs inside a tool: each tool may run agents. */
export function wrapInnerRuns(tool: Tool, wrapTurn: WrapTurn): Tool {
  if (!tool.execute) return tool;
  const execute: Tool['execute'] = (args, context) => {
    const { outer } = context;
    if (outer) {
      const { wrapAgent: wrapEarlier } = outer;
      outer.wrapAgent = <A extends object>(agent: A): A => {
        const earlier: object = wrapEarlier ? wrapEarlier(agent) : agent;
        return wrapAgent(earlier as AgentFunctions, wrapTurn) as object as A;
      };
    }
    return tool.execute?.(args, context);
  };
  return { ...tool, execute };
}

function wrapAgent(agent: AgentFunctions, wrapTurn: WrapTurn): AgentFunctions {
  const wrapped = ({ wrapTurn: wrapOuter, ...options }: InnerRunOptions): InnerRunOptions => ({
    ...options,
    wrapTurn: wrapBoth(wrapOuter, wrapTurn),
  });
  return {
    ...agent,
    stream: (input, options) => agent.stream(input, wrapped(options)),
    ...(agent.resume ? { resume: (checkpoint, options) => agent.resume?.(checkpoint, wrapped(options)) ?? EMPTY } : {}),
  };
}
