import { EMPTY, finalize, from as fromInput, merge, Subject } from 'rxjs';
import type { MonoTypeOperatorFunction, Subscriber } from 'rxjs';
import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { createOperator } from '../../core/createOperator.js';
import type { RunEvent, RunState, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { Input } from '../../core/input.js';
import type { Message } from '../../core/message.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { addUsage } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { findTool } from '../../operators/execute/runningCall.js';
import type { AgentSettings, RunHooks, RunStart } from '../agentRun.js';
import type { TurnContext } from '../orchestrator.js';
import type { RunOptions } from '../runOptions.js';
import type { RunWrapper } from '../runWrapper.js';
import { BackgroundCall, backgroundOf, handleOf } from './backgroundCall.js';
import type { BackgroundObserver, StoredCall } from './backgroundCall.js';
import { changeCheckpoint, storedCalls, withCalls, withoutCalls } from './backgroundCheckpoint.js';
import { REPLAY_END } from '../replay.js';
import { HeldTurn } from './heldTurn.js';

/** Runs the calls of a run that are in the background. */
export const wrapRun: RunWrapper = (start) => (settings, from, options) => {
  const run = new BackgroundRun(settings, from);
  return start(settings, withoutCalls(from), run.optionsFrom(options), run).pipe(
    run.keepCalls,
    finalize(() => run.unsubscribe()),
  );
};

/** Calls join the run as prompts. Their events are emitted in the turn that runs at that time. */
export class BackgroundRun implements BackgroundObserver, RunHooks {
  isStopped = false;
  /** Prompts have arrived since the end of the last turn. */
  hasPrompts = false;
  /** Those that have not joined the run. */
  private readonly calls = new Map<string, BackgroundCall>();
  /** Calls that begin when the model's message is complete, since it may be retracted before, or is replayed. */
  private announced: BackgroundCall[] = [];
  private readonly handles = new Map<Tool, Tool>();
  private readonly results = new Subject<Message>();
  private readonly early: StreamEvent[] = [];
  /** Where events are emitted: that of the turn. */
  private out: Subscriber<StreamEvent> | undefined;
  private turnNow: HeldTurn | undefined;
  private context: TurnContext | undefined;
  private state: RunState;
  private usage: Usage | undefined;
  /** The last checkpoint, without the calls. */
  private kept: Checkpoint | undefined;
  private outer: Subscriber<StreamEvent> | undefined;
  private isStopping = false;

  constructor(
    private readonly settings: AgentSettings,
    from: RunStart,
  ) {
    this.state = from.state;
    this.kept = from.checkpoint && withoutCalls(from).checkpoint;
    this.usage = from.checkpoint?.background?.usage;
    this.announced = storedCalls(from).map((stored) => this.add(stored));
    for (const call of this.announced) call.isKept = true;
  }

  get awaited(): readonly BackgroundCall[] {
    return [...this.calls.values()].filter(({ isAwaited, result }) => isAwaited && !result);
  }

  optionsFrom(options: RunOptions): RunOptions {
    const { wrapTurn, prompts } = options;
    const handled: NonNullable<RunOptions['wrapTurn']> = (turn) => (state, context) => {
      this.state = state;
      this.context = context;
      if (!context.resumed) this.beginAnnounced();
      return turn(state, { ...context, tools: context.tools.map((tool) => this.handleTool(tool)) });
    };
    const all = merge(prompts ? fromInput(prompts) : EMPTY, this.results);
    return {
      ...options,
      wrapTurn: wrapTurn ? (turn) => wrapTurn(handled(turn)) : handled,
      prompts: all.pipe(this.noteArrivals),
    };
  }

  turn(state: RunState, context: TurnContext): MonoTypeOperatorFunction<RunEvent> {
    return createOperator<StreamEvent, StreamEvent>(
      (out) => new HeldTurn(out, this, state, context),
    ) as MonoTypeOperatorFunction<StreamEvent> as MonoTypeOperatorFunction<RunEvent>;
  }

  /** What still runs at the end of the run is cancelled. What has not joined it yet joins now. */
  readonly turns = createOperator<RunEvent, RunEvent>((out) => ({
    next: (event) => {
      const known = asKnownEvent(event);
      if (known.type === 'message')
        for (const call of this.calls.values()) if (call.result && call.message === known.message) call.isJoined = true;
      if (known.type !== 'turn') {
        out.next(event);
        return;
      }
      if (!known.next) this.finish(out);
      for (const [id, { isJoined }] of this.calls) if (isJoined) this.calls.delete(id);
      out.next(known.next ? event : this.withUsage(known));
    },
  }));

  readonly keepCalls = createOperator<RunEvent, RunEvent>((out) => {
    this.outer = out;
    return {
      next: (event) => {
        const { checkpoint } = event.type === 'result' ? event.result : (event as { checkpoint?: Checkpoint });
        if (checkpoint) {
          this.kept = checkpoint;
          for (const call of this.calls.values()) call.isKept = true;
        }
        out.next(changeCheckpoint(event, (stored) => this.checkpointWith(stored)));
      },
    };
  });

  /** Begins to emit the events of calls in a turn. */
  enter(turn: HeldTurn, out: Subscriber<StreamEvent>): void {
    this.turnNow = turn;
    this.out = out;
    out.add(() => {
      if (this.out === out) this.out = undefined;
    });
    for (const event of this.early.splice(0)) out.next(event);
  }

  observe({ type }: StreamEvent, isComplete: boolean): void {
    if (type === 'retract') for (const { call } of this.announced.splice(0)) this.calls.delete(call.id);
    if (isComplete || type === REPLAY_END) this.beginAnnounced();
  }

  cancel(id: string): void {
    for (const call of this.calls.values()) call.cancel(id);
  }

  answer(given: CallAnswers): void {
    for (const call of this.calls.values()) call.answer(given);
  }

  stop(): void {
    this.isStopped = true;
    this.isStopping = true;
    for (const call of this.calls.values()) if (!call.result) call.stop();
    this.isStopping = false;
  }

  unsubscribe(): void {
    this.outer = undefined;
    for (const call of this.calls.values()) call.unsubscribe();
  }

  emit(event: StreamEvent): void {
    const known = asKnownEvent(event);
    if (known.type === 'toolUsage') this.usage = addUsage(this.usage, known.usage);
    if (this.out) this.out.next(event);
    else this.early.push(event);
  }

  changed(): void {
    const { kept, context } = this;
    if (!kept || !context?.checkpoints) return;
    this.outer?.next({ type: 'checkpoint', checkpoint: this.checkpointWith(kept) } as StreamEvent);
  }

  ended({ message }: BackgroundCall): void {
    this.results.next(message);
  }

  suspended(): void {
    this.turnNow?.settle();
  }

  /** Adds what the calls have used since the last turn. */
  withUsage<E extends { readonly usage?: Usage; readonly next?: RunState | null }>(event: E): E {
    const { usage } = this;
    if (!usage) return event;
    this.usage = undefined;
    const next = event.next && { ...event.next, usage: addUsage(event.next.usage, usage) };
    return { ...event, usage: addUsage(event.usage, usage), ...(event.next === undefined ? {} : { next }) };
  }

  private readonly noteArrivals = createOperator<Input, Input>((out) => ({
    next: (prompt) => {
      out.next(prompt);
      this.hasPrompts = true;
      if (!this.isStopping) this.turnNow?.settle();
    },
  }));

  private checkpointWith(checkpoint: Checkpoint): Checkpoint {
    const calls = [...this.calls.values()].filter(({ isKept }) => isKept);
    return withCalls(checkpoint, calls, this.usage);
  }

  private handleTool(tool: Tool): Tool {
    const known = this.handles.get(tool) ?? (backgroundOf(tool) ? this.createHandle(tool) : tool);
    this.handles.set(tool, known);
    return known;
  }

  private createHandle(tool: Tool): Tool {
    const execute: Tool['execute'] = (_args, context) => {
      const { call } = context as ToolContext;
      this.announced.push(this.add({ call, turn: this.state.turn, messages: this.state.messages }));
      return handleOf(call);
    };
    return { ...tool, execute };
  }

  private add(stored: StoredCall): BackgroundCall {
    const { tools } = this.settings;
    const { awaited = true } =
      backgroundOf(findTool(new Map(tools.map((tool) => [tool.name, tool])), stored.call.name) ?? {}) ?? {};
    const call = new BackgroundCall(stored, awaited, this);
    this.calls.set(stored.call.id, call);
    return call;
  }

  private begin(call: BackgroundCall): void {
    const { context, settings } = this;
    if (call.result) this.ended(call);
    else if (this.isStopped || !context) call.stop();
    else call.begin([...settings.tools, ...context.tools], context); // those of the turn may be wrapped
  }

  private beginAnnounced(): void {
    for (const call of this.announced.splice(0)) this.begin(call);
  }

  private finish(out: Subscriber<StreamEvent>): void {
    this.out = out;
    this.stop();
    for (const call of this.calls.values()) {
      if (call.isJoined) continue;
      call.isJoined = true;
      out.next({ type: 'message', message: call.message } as StreamEvent);
    }
  }
}
