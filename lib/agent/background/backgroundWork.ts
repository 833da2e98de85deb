import { Subject, type Subscriber } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { RunState, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import type { Tool } from '../../core/tool.js';
import { addUsage, type Usage } from '../../core/usage.js';
import type { RunStart } from '../agentRun.js';
import type { TurnContext } from '../orchestrator.js';
import { BackgroundCall, type BackgroundObserver, type StoredCall } from './backgroundCall.js';
import { storedCalls, withCalls, withoutCalls } from './backgroundCheckpoint.js';

/** The calls of a run that are in the background. Their events are emitted in the turn that runs at that time. */
export class BackgroundWork implements BackgroundObserver {
  isStopped = false;
  /** Prompts have arrived since the end of the last turn. */
  hasPrompts = false;
  /** Set by the turn. */
  out: Subscriber<StreamEvent> | undefined;
  /** Ends the turn, if nothing is waited for. Set by the turn. */
  settle: () => void = () => undefined;
  context: TurnContext | undefined;
  /** Those that have not joined the run. */
  readonly calls = new Map<string, BackgroundCall>();
  private readonly joining = new Subject<Message>();
  readonly results = this.joining.asObservable();
  /** Calls that begin when the events of their turn reach readers. */
  private announced: BackgroundCall[] = [];
  private readonly early: StreamEvent[] = [];
  /** The last checkpoint, without the calls. */
  private kept: Checkpoint | undefined;
  private usage: Usage | undefined;

  constructor(
    from: RunStart,
    private readonly tools: readonly Tool[],
    private readonly isAwaited: (name: string) => boolean,
  ) {
    this.kept = withoutCalls(from).checkpoint;
    this.usage = from.checkpoint?.background?.usage;
    for (const stored of storedCalls(from)) this.add(stored).isKept = true;
  }

  get awaited(): readonly BackgroundCall[] {
    return [...this.calls.values()].filter(({ isAwaited, result }) => isAwaited && !result);
  }

  add(stored: StoredCall): BackgroundCall {
    const call = new BackgroundCall(stored, this.isAwaited(stored.call.name), this);
    this.calls.set(stored.call.id, call);
    this.announced.push(call);
    return call;
  }

  begin(): void {
    const { context, isStopped, tools } = this;
    for (const call of this.announced.splice(0)) {
      if (call.result) this.ended(call);
      else if (isStopped || !context) call.stop();
      else call.begin([...tools, ...context.tools], context); // those of the turn may be wrapped
    }
  }

  stop(): void {
    const { settle } = this;
    this.isStopped = true;
    this.settle = () => undefined;
    this.begin(); // those that have not begun do not
    for (const call of this.calls.values()) if (!call.result) call.stop();
    this.settle = settle;
  }

  enter(out: Subscriber<StreamEvent>, settle: () => void): void {
    this.out = out;
    this.settle = settle;
    out.add(() => {
      if (this.out === out) this.out = undefined;
    });
    for (const event of this.early.splice(0)) out.next(event);
  }

  emit(event: StreamEvent): void {
    const known = asKnownEvent(event);
    if (known.type === 'toolUsage') this.usage = addUsage(this.usage, known.usage);
    if (this.out) this.out.next(event);
    else this.early.push(event);
  }

  changed(): void {
    const { kept, context, out } = this;
    if (kept && context?.checkpoints) out?.next({ type: 'checkpoint', checkpoint: this.store(kept) } as StreamEvent);
  }

  ended({ message }: BackgroundCall): void {
    this.joining.next(message);
  }

  arrived(): void {
    this.hasPrompts = true;
    this.settle();
  }

  withUsage<E extends { readonly usage?: Usage; readonly next?: RunState | null }>(event: E): E {
    const { usage } = this;
    if (!usage) return event;
    this.usage = undefined;
    const next = event.next && { ...event.next, usage: addUsage(event.next.usage, usage) };
    return { ...event, usage: addUsage(event.usage, usage), ...(event.next === undefined ? {} : { next }) };
  }

  /** The run has a checkpoint, with the handles of all calls. */
  keep(checkpoint: Checkpoint): Checkpoint {
    this.kept = checkpoint;
    for (const call of this.calls.values()) call.isKept = true;
    return this.store(checkpoint);
  }

  private store(checkpoint: Checkpoint): Checkpoint {
    const calls = [...this.calls.values()].filter(({ isKept }) => isKept);
    return withCalls(checkpoint, calls, this.usage);
  }
}
