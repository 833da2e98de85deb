import { EMPTY, finalize, from as fromInput, merge, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import { createOperator } from '../../core/createOperator.js';
import type { RunEvent, RunState } from '../../core/event.js';
import type { Input } from '../../core/input.js';
import { markLate } from '../../core/lateTool.js';
import { joinedResult, type Message } from '../../core/message.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { hasCallWithoutResult } from '../../operators/endTurn.js';
import type { RunHooks } from '../agentRun.js';
import type { TurnContext } from '../orchestrator.js';
import type { RunOptions } from '../runOptions.js';
import { runWrapperOf, type RunWrapper } from '../runWrapper.js';
import { handleOf } from './backgroundCall.js';
import { withoutCalls } from './backgroundCheckpoint.js';
import { BackgroundWork } from './backgroundWork.js';
import { heldEvents, HeldTurn } from './heldTurn.js';

export const wrap: RunWrapper['wrap'] = (start) => (settings, from, options) => {
  const { tools } = settings;
  const isAwaited = (name: string) => runWrapperOf(tools.find((tool) => tool.name === name))?.isAwaited ?? true;
  const run = new BackgroundRun(new BackgroundWork(from, tools, isAwaited));
  return start(settings, withoutCalls(from), run.optionsFrom(options), run).pipe(finalize(() => run.unsubscribe()));
};

/** The results of the work join the run as prompts. */
class BackgroundRun implements RunHooks {
  private readonly handles = new Map<Tool, Tool>();
  private state: RunState | undefined;

  constructor(private readonly work: BackgroundWork) {}

  optionsFrom(options: RunOptions): RunOptions {
    const { wrapTurn, prompts } = options;
    const { work } = this;
    const handled: NonNullable<RunOptions['wrapTurn']> = (turn) => (state, context) => {
      this.state = state;
      work.context = context;
      const { open } = context.resumed ?? {};
      if (!open) work.begin();
      else if (!hasCallWithoutResult(open.messages)) return heldEvents(state, open, context);
      return turn(state, { ...context, tools: context.tools.map((tool) => this.handleTool(tool)) });
    };
    const noteArrivals = createOperator<Input, Input>((out) => ({
      next: (prompt) => {
        out.next(prompt);
        work.arrived();
      },
    }));
    return {
      ...options,
      wrapTurn: wrapTurn ? (turn) => wrapTurn(handled(turn)) : handled,
      prompts: merge(prompts ? fromInput(prompts) : EMPTY, work.results).pipe(noteArrivals),
    };
  }

  turn(state: RunState, context: TurnContext): MonoTypeOperatorFunction<RunEvent> {
    return createOperator<RunEvent, RunEvent>((out) => new HeldTurn(out, this.work, state, context));
  }

  /** What still runs at the end of the run is cancelled. What has not joined it yet joins now. */
  readonly turns = createOperator<RunEvent, RunEvent>((out) => ({
    next: (event) => {
      const { calls } = this.work;
      if (event.type === 'message')
        for (const call of calls.values()) if (call.result && call.message === event.message) call.isJoined = true;
      if (event.type !== 'turn') {
        out.next(event);
        return;
      }
      if (!event.next) this.finish(out);
      for (const [id, { isJoined }] of calls) if (isJoined) calls.delete(id);
      out.next(event.next ? event : this.work.withUsage(event));
    },
  }));

  readonly extend = (checkpoint: Checkpoint): Checkpoint => this.work.keep(checkpoint);

  left(prompts: readonly Message[]): readonly Message[] {
    return prompts.filter((message) => !joinedResult(message));
  }

  unsubscribe(): void {
    for (const call of this.work.calls.values()) call.unsubscribe();
  }

  /** In the run, the call has its handle at once; the tool is executed in the background. */
  private handleTool(tool: Tool): Tool {
    const execute: Tool['execute'] = (_args, context) => {
      const { call } = context as ToolContext;
      const { turn = 0, messages = [] } = this.state ?? {};
      this.work.add({ call, turn, messages });
      return handleOf(call);
    };
    const known = this.handles.get(tool) ?? (runWrapperOf(tool) ? markLate({ ...tool, execute }) : tool);
    this.handles.set(tool, known);
    return known;
  }

  private finish(out: Subscriber<RunEvent>): void {
    this.work.out = out;
    this.work.stop();
    for (const call of this.work.calls.values()) {
      if (call.isJoined) continue;
      call.isJoined = true;
      out.next({ type: 'message', message: call.message });
    }
  }
}
