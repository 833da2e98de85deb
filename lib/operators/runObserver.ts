import { asyncScheduler } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { RetractChunk, RetryChunk } from '../core/chunk.js';
import { turnFollows } from '../core/event.js';
import type { RunResult, StreamEvent, ToolResultEvent, ToolStartEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent, isTurn } from '../core/eventGuards.js';
import { reportRejection } from '../core/reportUnhandled.js';
import { addUsage, negative, type Usage } from '../core/usage.js';
import { failedRunOf } from '../core/failedRun.js';
import { usageOfError } from '../core/usageOfError.js';
import { createUsageCounter } from '../core/usageCounter.js';

/** How something ended: by itself, with the error of the run, or because it was unsubscribed or retracted. */
type Outcome = 'completed' | 'failed' | 'unsubscribed';

/** The end of a run, a turn, a request or a tool. */
export interface ObservedEnd {
  readonly outcome: Outcome;
  /** The time since its start, in milliseconds of RxJS's clock. */
  readonly duration: number;
  /** The error of the run. Present if the outcome is `failed`. */
  readonly error?: unknown;
}

/** The position of something in its run: the number of its turn, from 1. */
interface InTurn {
  readonly turn: number;
}

export interface RunObserver {
  readonly runStart?: () => void;
  /**
   * The run has ended. `result` is absent if it did not complete. `usage` is what was used since the start, whatever
   * the outcome: of a resumed run without the turns before, with the `cost` if it is known.
   */
  readonly runEnd?: (end: ObservedEnd & { readonly usage: Usage; readonly result?: RunResult }) => void;
  readonly turnStart?: (start: InTurn) => void;
  /** A turn has ended. `event` is its `turn` event, absent if it was not completed or if calls wait. */
  readonly turnEnd?: (end: InTurn & ObservedEnd & { readonly event?: TurnEvent }) => void;
  readonly requestStart?: (start: InTurn) => void;
  /** The model has answered. `timeToFirstChunk`, in milliseconds, is absent if there was no content. */
  readonly requestEnd?: (end: InTurn & ObservedEnd & { readonly timeToFirstChunk?: number }) => void;
  /** A request, or a turn, is sent again after `delay` milliseconds. */
  readonly retry?: (retry: InTurn & Omit<RetryChunk, 'type'>) => void;
  /** The turn starts over: everything that it has emitted is void. */
  readonly retract?: (retract: InTurn & Omit<RetractChunk, 'type'>) => void;
  readonly toolStart?: (start: InTurn & Omit<ToolStartEvent, 'type'>) => void;
  /** A tool has ended. `event` is its `toolResult`, whose `code` says why it failed; absent if it was unsubscribed. */
  readonly toolEnd?: (
    end: InTurn & ObservedEnd & { readonly id: string; readonly name: string; readonly event?: ToolResultEvent },
  ) => void;
}

interface RunningTool {
  readonly name: string;
  readonly startTime: number;
}

const now = () => asyncScheduler.now();

/** Calls an observer for the events of one run. Called for each event; creates no Observables. */
export class RunObservation {
  private runStartTime = 0;
  private readonly tools = new Map<string, RunningTool>();
  private isEnded = false;
  private usage: Usage = {};
  private readonly usageOf;
  private turn: number;
  private turnStartTime: number | undefined;
  private requestStartTime: number | undefined;
  private firstChunkTime: number | undefined;

  constructor(
    private readonly observer: RunObserver,
    private readonly resumed: Pick<Checkpoint, 'state' | 'open' | 'ended'> | undefined,
  ) {
    this.turn = (resumed?.state.turn ?? 0) + 1;
    this.usageOf = createUsageCounter(resumed);
  }

  start(): void {
    const { ended, open } = this.resumed ?? {};
    this.runStartTime = now();
    reportRejection(this.observer.runStart?.());
    if (ended) return;
    this.startTurn();
    if (!open) this.startRequest();
  }

  before(event: StreamEvent): void {
    const known = asKnownEvent(event);
    const { turn } = this;
    const used = this.usageOf(event);
    if (used) this.usage = addUsage(this.usage, used);
    switch (known.type) {
      case 'text':
      case 'thinking':
      case 'toolCallFragment':
      case 'toolCall':
      case 'file':
      case 'source':
        this.startRequest(); // if it has not started with the turn
        this.firstChunkTime ??= now();
        break;
      case 'retry': {
        const { type: _, ...retry } = known;
        this.startRequest();
        reportRejection(this.observer.retry?.({ turn, ...retry }));
        break;
      }
      case 'retract': {
        const { type: _, ...retract } = known;
        this.endTools({ outcome: 'unsubscribed' });
        this.startRequest();
        reportRejection(this.observer.retract?.({ turn, ...retract }));
        break;
      }
      case 'message':
        this.endRequest({ outcome: 'completed' });
        break;
      case 'toolStart': {
        const { type: _, ...start } = known;
        this.startTurn();
        this.tools.set(known.id, { name: known.name, startTime: now() });
        reportRejection(this.observer.toolStart?.({ turn, ...start }));
        break;
      }
      case 'toolResult':
        this.endTool(known.id, { outcome: 'completed', event: known });
        break;
      case 'turn':
        this.turn = known.turn;
        this.endTurn({ outcome: 'completed', event: known });
        this.turn++;
        break;
      case 'result':
        this.end({ outcome: 'completed', result: known.result });
        break;
      default:
    }
  }

  after(event: StreamEvent): void {
    if (!this.isEnded && isTurn(event) && turnFollows(event)) this.startRequest();
  }

  /** Ends the run, and everything in it that has not ended. It does nothing if the run has ended already. */
  end({ result, ...end }: Omit<ObservedEnd, 'duration'> & { readonly result?: RunResult }): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.endTurn(end);
    const usage = { ...this.usage, ...this.usageOfFailed(end.error) };
    const run = { ...end, usage, duration: now() - this.runStartTime };
    reportRejection(this.observer.runEnd?.(result ? { ...run, result } : run));
  }

  /** Without what was counted before the run was resumed. */
  private usageOfFailed(error: unknown): Usage {
    const { state, open } = this.resumed ?? {};
    const failed = failedRunOf(error);
    if (!failed) return addUsage(this.usage, usageOfError(error));
    return addUsage(failed.usage, negative(addUsage(state?.usage, open?.finish.usage)));
  }

  private startTurn(): void {
    if (this.turnStartTime !== undefined) return;
    this.turnStartTime = now();
    reportRejection(this.observer.turnStart?.({ turn: this.turn }));
  }

  private endTurn(end: Omit<ObservedEnd, 'duration'> & { readonly event?: TurnEvent }): void {
    const { turn, turnStartTime } = this;
    const { event: _, ...inner } = end;
    this.endTools(inner);
    this.endRequest(inner);
    if (turnStartTime === undefined) return;
    this.turnStartTime = undefined;
    reportRejection(this.observer.turnEnd?.({ turn, ...end, duration: now() - turnStartTime }));
  }

  private startRequest(): void {
    this.startTurn();
    if (this.requestStartTime !== undefined) return;
    this.requestStartTime = now();
    reportRejection(this.observer.requestStart?.({ turn: this.turn }));
  }

  private endRequest(end: Omit<ObservedEnd, 'duration'>): void {
    const { turn, requestStartTime, firstChunkTime } = this;
    if (requestStartTime === undefined) return;
    this.requestStartTime = this.firstChunkTime = undefined;
    const first = firstChunkTime === undefined ? {} : { timeToFirstChunk: firstChunkTime - requestStartTime };
    reportRejection(this.observer.requestEnd?.({ turn, ...end, duration: now() - requestStartTime, ...first }));
  }

  private endTools(end: Omit<ObservedEnd, 'duration'>): void {
    for (const id of [...this.tools.keys()]) this.endTool(id, end);
  }

  private endTool(id: string, end: Omit<ObservedEnd, 'duration'> & { readonly event?: ToolResultEvent }): void {
    const tool = this.tools.get(id);
    if (!tool) return;
    this.tools.delete(id);
    const ended = { turn: this.turn, id, name: tool.name, ...end, duration: now() - tool.startTime };
    reportRejection(this.observer.toolEnd?.(ended));
  }
}
