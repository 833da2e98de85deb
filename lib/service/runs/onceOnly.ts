import { catchError, concat, defer, type Observable } from 'rxjs';
import { innerAgentOf } from '../../core/innerAgent.js';
import { markLate } from '../../core/lateTool.js';
import { toolErrorTexts } from '../../core/message.js';
import type { OuterRun } from '../../core/nested.js';
import type { Tool } from '../../core/tool.js';
import { ToolFailure } from '../../operators/execute/toolFailure.js';
import { runTool } from '../../operators/execute/runTool.js';
import { unknownText } from './leftMessages.js';
import { wrapInnerRuns, type WrapTurn } from './wrapInnerRuns.js';

/**
 * Wraps the turns of a run so that no call of an `atMostOnce` tool is executed twice, in whatever process: before a
 * call begins, the record says so. A call that had begun in a process that has ended is answered with
 * `outcome_unknown`, unless it has asked a person and waits for the answer. The same holds for calls of inner agents.
 */
export function onceOnly(
  begunKeys: readonly string[] = [],
  recordBegun: (keys: readonly string[]) => Observable<never>,
): WrapTurn {
  const keys = new Set(begunKeys);
  const refusal = (key: string) => (keys.has(key) ? new ToolFailure('outcome_unknown', unknownText) : undefined);
  const tools = new Map<Tool, Tool>();
  const wrap = (tool: Tool): Tool => {
    const known = tools.get(tool) ?? wrapOnce(tool);
    tools.set(tool, known);
    return known;
  };
  /**
   * A tool that runs an agent is wrapped through the turns of that agent. No call begins before its message is stored:
   * after a crash, its id, and so its key, would differ.
   */
  const wrapOnce = (tool: Tool): Tool => {
    const wrapped = wrapInnerRuns(tool, wrapTurn);
    if (hasAtMostOnceInside(tool)) return markLate(wrapped);
    if (!isAtMostOnce(tool)) return wrapped;
    const execute: Tool['execute'] = (args, context) =>
      defer(() => {
        const { idempotencyKey: key, outer } = context;
        const refused = refusal(key);
        if (refused) {
          if (outer && asksPerson(outer)) return runTool(wrapped, args, context);
          throw refused;
        }
        keys.add(key); // before the write: another call may begin meanwhile
        return concat(recordBegun([...keys]).pipe(catchError(notBegun)), runTool(wrapped, args, context));
      });
    return markLate({ ...tool, execute }, refusal);
  };
  const wrapTurn: WrapTurn = (turn) => (state, context) => turn(state, { ...context, tools: context.tools.map(wrap) });
  return wrapTurn;
}

/** Whether a tool runs an agent that has, at any depth, a tool of which no call is executed twice. */
const hasAtMostOnceInside = (tool: Tool): boolean =>
  innerAgentOf(tool)?.tools.some((inner) => isAtMostOnce(inner) || hasAtMostOnceInside(inner)) ?? false;

/** Default: a tool that needs an approval. */
function isAtMostOnce(tool: Tool): boolean {
  if (!tool.execute) return false;
  return tool.atMostOnce ?? Boolean(tool.needsApproval);
}

/** Whether the last inner run that has not ended is an open question: nothing has happened since it was asked. */
const asksPerson = ({ resumed }: OuterRun): boolean =>
  (resumed?.findLast(({ checkpoint }) => !checkpoint.ended)?.checkpoint.open?.waiting.length ?? 0) > 0;

/** The store has failed, so the tool is not executed. */
const notBegun = (): never => {
  throw new ToolFailure('not_executed', toolErrorTexts.not_executed);
};
