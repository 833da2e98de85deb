import type { Subscriber } from 'rxjs';
import type { OpenCalls, OpenCallsEvent } from '../../core/checkpoint.js';
import type { OperatorHandlers } from '../../core/createOperator.js';
import type { RunEvent, RunState, StreamEvent, TurnEvent } from '../../core/event.js';
import { asKnownEvent, isOpenCalls, isTurn } from '../../core/eventGuards.js';
import { omitUndefined } from '../../core/json/json.js';
import { hasToolResults, resultsIn } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import { onEachValue, onFirstValue } from '../../core/notifier.js';
import { OpenTurn, stoppedTurn } from '../openTurn.js';
import type { TurnContext } from '../orchestrator.js';
import { REPLAY_END } from '../replay.js';
import type { BackgroundRun } from './backgroundRun.js';

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
    private readonly run: BackgroundRun,
    private readonly state: RunState,
    private readonly context: TurnContext,
  ) {
    const { stop, cancel, answers } = context;
    this.open = new OpenTurn(state);
    this.isReplaying = context.resumed !== undefined;
    run.enter(this, out);
    if (stop) onFirstValue(out, stop, () => this.stop());
    if (cancel) onEachValue(out, cancel, (id) => run.cancel(id));
    if (answers) onEachValue(out, answers, (given) => run.answer(given));
  }

  next(event: StreamEvent): void {
    if (isTurn(event) || (isOpenCalls(event) && event.waits)) {
      this.end = event;
      return;
    }
    const known = asKnownEvent(event);
    if (known.type === 'message') this.messages.push(known.message);
    if (known.type === 'retract') this.messages = [];
    this.open.observe(event as RunEvent);
    this.out.next(event);
    if (event.type === REPLAY_END) this.isReplaying = false;
    const hasMessage = this.messages.some(({ role }) => role === 'model');
    this.run.observe(event, hasMessage && !this.isReplaying);
  }

  afterTeardown(): void {
    this.hasEnded = true;
    this.settle();
  }

  /** Ends the turn, if nothing in the background is waited for. */
  settle(): void {
    const { end, out } = this;
    if (!this.hasEnded || out.closed) return;
    if (!end) out.complete();
    else if (isOpenCalls(end)) this.settleWaiting(end);
    else this.settleTurn(end as TurnEvent);
  }

  /** The run waits for people, but not before the work in the background has ended, or waits too. */
  private settleWaiting(end: OpenCallsEvent): void {
    const { run, open } = this;
    const isRunning = run.awaited.some(({ isSuspended }) => !isSuspended);
    if (run.isStopped && this.isHeld) this.release(...open.stop());
    else if (isRunning && !run.isStopped) this.isHeld = true;
    else this.release(withFinish(end, run.withUsage(end.open.finish)));
  }

  private settleTurn(end: TurnEvent): void {
    const { run, context } = this;
    const isLast = !end.next && end.finishReason !== 'stopped' && !context.last && !run.isStopped && !run.hasPrompts;
    const awaited = isLast ? run.awaited : [];
    if (awaited.length === 0) {
      this.release(run.withUsage(run.isStopped && this.isHeld ? stoppedTurn(end) : end));
    } else if (awaited.every(({ isSuspended }) => isSuspended)) {
      this.release(this.openTurn(run.withUsage(end), true));
    } else if (!this.isHeld) {
      this.isHeld = true;
      if (context.checkpoints) this.out.next(this.openTurn(end, false)); // the model is not asked again
    }
  }

  private release(...events: readonly StreamEvent[]): void {
    const { out, run } = this;
    this.hasEnded = false;
    run.hasPrompts = false; // those that have arrived join now
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
    this.run.stop();
    this.settle();
  }
}

const withFinish = (event: OpenCallsEvent, finish: OpenCalls['finish']): OpenCallsEvent => ({
  ...event,
  open: { ...event.open, finish },
});
