import { SpanKind, type Attributes } from '@opentelemetry/api';
import type { RunEvent, ToolResultEvent, ToolStartEvent } from '../../core/event.js';
import type { Tool } from '../../core/tool.js';
import { runTool } from '../../operators/execute/runTool.js';
import { nameText } from './attributes.js';
import { errorType } from './errors.js';
import { recordHistogram } from './metrics.js';
import { inContext, Operation } from './operation.js';
import type { TracedRun } from './telemetry.js';

/** In characters: that of a stranger's server would be in each span. */
const MAX_DESCRIPTION = 1024;

interface RunningCall {
  readonly operation: Operation;
  thrown?: unknown;
}

/** Events start and end the operations: only `toolResult` reports a cancellation or a timeout. */
export class ToolCalls {
  readonly tools: readonly Tool[];
  private readonly running = new Map<string, RunningCall>();

  constructor(
    private readonly run: TracedRun,
    private readonly turn: Operation,
    private readonly originals: readonly Tool[],
  ) {
    this.tools = originals.map((tool) => this.traceTool(tool));
  }

  observe(event: RunEvent): void {
    switch (event.type) {
      case 'toolStart':
        this.start(event);
        break;
      case 'toolResult':
        this.end(event);
        break;
      case 'retract':
        this.cancelAll();
        break;
      default:
    }
  }

  cancelAll(): void {
    for (const { operation } of this.running.values()) operation.cancel();
    this.running.clear();
  }

  private traceTool(tool: Tool): Tool {
    if (!tool.execute) return tool;
    return {
      ...tool,
      execute: (args, context) => {
        const call = this.running.get(context.call.id);
        // `agentTool` reads it before it runs its agent, so that the inner run is traced too.
        if (context.outer) context.outer.wrapAgent = (agent) => this.run.traceInner(agent, tool.name);
        const keepError = (thrown: unknown) => {
          if (call) call.thrown = thrown;
        };
        const { context: callContext } = call?.operation ?? this.turn;
        return runTool(tool, args, context).pipe(inContext(callContext, { error: keepError }));
      },
    };
  }

  private start({ id, name, arguments: args }: ToolStartEvent): void {
    const { telemetry, agent } = this.run;
    const tool = this.originals.find((candidate) => candidate.name === name);
    const metricAttributes: Attributes = { ...agent, 'gen_ai.tool.name': name, 'gen_ai.tool.type': 'function' };
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      ...metricAttributes,
      'gen_ai.tool.call.id': nameText(id),
      ...(tool ? { 'gen_ai.tool.description': nameText(tool.description, MAX_DESCRIPTION) } : {}),
      ...(telemetry.content ? { 'gen_ai.tool.call.arguments': JSON.stringify(args) } : {}),
    };
    const operation = new Operation(
      telemetry,
      { name: `execute_tool ${name}`, kind: SpanKind.INTERNAL, attributes, parent: this.turn.context },
      ({ seconds, error, context }) =>
        recordHistogram(telemetry, 'gen_ai.execute_tool.duration', seconds, { ...metricAttributes, ...error }, context),
    );
    this.running.set(id, { operation });
  }

  private end({ id, name, result, error, code = 'failed' }: ToolResultEvent): void {
    const call = this.running.get(id);
    this.running.delete(id);
    if (error === undefined) {
      call?.operation.end(this.run.telemetry.content ? { 'gen_ai.tool.call.result': JSON.stringify(result) } : {});
    } else if (!call) {
      this.noteUnexecuted(id, name, code);
    } else if (code === 'cancelled') {
      call.operation.cancel();
    } else {
      // The class of what the tool threw says more than `failed`. Every other code is more exact.
      const type = code === 'failed' && call.thrown !== undefined ? errorType(call.thrown) : code;
      call.operation.fail(this.run.telemetry.content ? (call.thrown ?? error) : undefined, type);
    }
  }

  private noteUnexecuted(id: string, name: string, code: string): void {
    const isKnown = this.originals.some((tool) => tool.name === name);
    this.turn.span.addEvent('rivulet.tool_not_executed', {
      ...(isKnown ? { 'gen_ai.tool.name': name } : {}),
      'gen_ai.tool.call.id': nameText(id),
      'error.type': code,
    });
  }
}
