import { from, type Subscriber } from 'rxjs';
import type { OpenCalls, OpenCallsEvent } from '../../core/checkpoint.js';
import type { OperatorHandlers } from '../../core/createOperator.js';
import type { RunEvent, RunState, StreamEvent, TurnEvent } from '../../core/event.js';
import { asKnownEvent, isOpenCalls, isTurn } from '../../core/eventGuards.js';
import { omitUndefined } from '../../core/json/json.js';
import { hasToolResults, resultsIn, type Message } from '../../core/message.js';
import { onEachValue, onFirstValue } from '../../core/notifier.js';
import { OpenTurn, stoppedTurn } from '../openTurn.js';
import type { TurnContext } from '../orchestrator.js';
import { REPLAY_END } from '../replay.js';
import type { BackgroundWork } from './backgroundWork.js';

/** A turn, with the events of the work in the background. It is held while the run would end before that. */
export class HeldTurn implements OperatorHandlers<StreamEvent> {
  private readonly open: OpenTurn;
  private messages: Message[] = [];
  private end: StreamEvent | undefined;
  private hasEnded = false;
  private isHeld = false;
  /** The events of a replay do not reach readers: what is emitted meanwhile would be lost. */
  private isReplaying: boolean;

  constructor(
    private readonly out: Subscriber<StreamEvent>,
    private readonly work: BackgroundWork,
    private readonly state: RunState,
    private readonly context: TurnContext,
  ) {
    const { stop, cancel, answers } = context;
    const { calls } = work;
    this.open = new OpenTurn(state);
    this.isReplaying = context.resumed !== undefined;
    work.enter(out, () => this.settle());
    if (stop) onFirstValue(out, stop, () => this.stop());
    if (answers) out.add(from(answers).subscribe({ error: (thrown: unknown) => out.error(thrown) }));
    if (cancel) onEachValue(out, cancel, (id) => calls.forEach((call) => call.cancel(id)));
  }

  next(event: StreamEvent): void {
    if (isTurn(event) || (isOpenCalls(event) && event.waits)) {
      this.end = event;
      return;
    }
    const known = asKnownEvent(event);
    if (known.type === 'message') this.messages.push(known.message);
    this.open.observe(event as RunEvent);
    this.out.next(event);
    if (known.type === 'retract') {
      this.messages = [];
      this.work.retract();
    }
    if (event.type === REPLAY_END) this.isReplaying = false;
    else if (!this.messages.some(({ role }) => role === 'model')) return;
    if (!this.isReplaying) this.work.begin();
  }

  afterTeardown(): void {
    this.hasEnded = true;
    this.settle();
  }

  settle(): void {
    const { end, out } = this;
    if (!this.hasEnded || out.closed) return;
    if (!end) out.complete();
    else if (isOpenCalls(end)) this.settleWaiting(end);
    else this.settleTurn(end as TurnEvent);
  }

  /** The run waits for people, but not before the work in the background has ended, or waits too. */
  private settleWaiting(end: OpenCallsEvent): void {
    const { work, open } = this;
    const isRunning = work.awaited.some(({ isSuspended }) => !isSuspended);
    if (work.isStopped && this.isHeld) this.release(...open.stop());
    else if (isRunning && !work.isStopped) this.isHeld = true;
    else this.release({ ...end, open: { ...end.open, finish: work.withUsage(end.open.finish) } } as OpenCallsEvent);
  }

  private settleTurn(end: TurnEvent): void {
    const { work, context } = this;
    const isLast = !end.next && end.finishReason !== 'stopped' && !context.last && !work.isStopped && !work.hasPrompts;
    const awaited = isLast ? work.awaited : [];
    if (awaited.length === 0) {
      this.release(work.withUsage(work.isStopped && this.isHeld ? stoppedTurn(end) : end));
    } else if (awaited.every(({ isSuspended }) => isSuspended)) {
      this.release(this.openTurn(work.withUsage(end), true));
    } else if (!this.isHeld) {
      this.isHeld = true;
      if (context.checkpoints) this.out.next(this.openTurn(end, false)); // the model is not asked again
    }
  }

  private release(...events: readonly StreamEvent[]): void {
    const { out, work } = this;
    this.hasEnded = false;
    work.hasPrompts = false; // those that have arrived join now
    for (const event of events) out.next(event);
    out.complete();
  }

  /** The turn as one that is open: a run that is resumed replays it, and is held again. */
  private openTurn({ finishReason: reason, rawReason, usage, metadata }: TurnEvent, waits: boolean): OpenCallsEvent {
    const open: OpenCalls = {
      messages: this.messages.filter((message) => !hasToolResults(message)),
      finish: { reason, ...omitUndefined({ rawReason, usage }) },
      ...omitUndefined({ metadata }),
      results: this.messages.flatMap(resultsIn),
      waiting: [],
    };
    return { type: 'openCalls', open, waits, state: this.state };
  }

  private stop(): void {
    this.work.stop();
    this.settle();
  }
}
