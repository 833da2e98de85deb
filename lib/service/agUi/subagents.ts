import type { WaitingCall } from '../../core/approval.js';
import type { NestedEvent, StreamEvent, ToolResultEvent } from '../../core/event.js';
import { isNested, isToolResult } from '../../core/eventGuards.js';
import { nestedId } from '../../core/nested.js';
import type { SubagentEvent } from '../../transport/agUi/protocol.js';

/** A sub-agent has the id of its call, so a run that waits has the same id when it continues. */
export class Subagents {
  /** The ids of open runs, outer ones first. */
  private readonly open = new Set<string>();

  addNested({ id, name, event }: NestedEvent, parent?: string): readonly SubagentEvent[] {
    const subagentRunId = parent === undefined ? id : nestedId(parent, id);
    const started = this.start(subagentRunId, name, id, parent);
    return [...started, ...this.inner(event, subagentRunId)];
  }

  addResult({ id, error }: ToolResultEvent, parent?: string): readonly SubagentEvent[] {
    const subagentRunId = parent === undefined ? id : nestedId(parent, id);
    if (!this.open.delete(subagentRunId)) return [];
    if (error === undefined) return [{ type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'success' } }];
    return [{ type: 'SUBAGENT_ERROR', subagentRunId, message: error }];
  }

  /** The ends of sub-agents without a result, inner ones first. */
  end(waiting: readonly WaitingCall[] = []): readonly SubagentEvent[] {
    const open = [...this.open].reverse();
    this.open.clear();
    return open.map((subagentRunId) => {
      const subagentOf = (path: readonly string[] = []) => path.slice(0, -1).join('/');
      if (!waiting.some(({ id, path }) => path && id.startsWith(nestedId(subagentRunId, ''))))
        return { type: 'SUBAGENT_ERROR', subagentRunId, message: 'The run ended before its sub-agent.' };
      const interruptIds = waiting.filter(({ path }) => subagentOf(path) === subagentRunId).map(({ id }) => id);
      return { type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'suspended', interruptIds } };
    });
  }

  private start(subagentRunId: string, name: string, call: string, parent?: string): readonly SubagentEvent[] {
    if (this.open.has(subagentRunId)) return [];
    this.open.add(subagentRunId);
    // A client knows only the calls of the run itself.
    const origin = parent === undefined ? { parentToolCallId: call } : { parentSubagentRunId: parent };
    return [{ type: 'SUBAGENT_STARTED', subagentRunId, name, ...origin }];
  }

  private inner(event: StreamEvent, parent: string): readonly SubagentEvent[] {
    if (isNested(event)) return this.addNested(event, parent);
    return isToolResult(event) ? this.addResult(event, parent) : [];
  }
}
