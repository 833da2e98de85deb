import { from, map, type Observable, type Subscriber } from 'rxjs';
import type { OpenCalls, OpenCallsEvent } from '../../core/checkpoint.js';
import type { OperatorHandlers } from '../../core/createOperator.js';
import type { RunEvent, RunState, StreamEvent, TurnEvent } from '../../core/event.js';
import { asKnownEvent, isFinish, isOpenCalls, isTurn } from '../../core/eventGuards.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { hasEmitted, onEachValue, onFirstValue } from '../../core/notifier.js';
import { OpenTurn, stoppedTurn } from '../openTurn.js';
import type { TurnContext } from '../orchestrator.js';
import { replay, REPLAY_END } from '../replay.js';
import type { BackgroundWork } from './backgroundWork.js';

/** A turn that was held, in place of its orchestrator: all that the orchestrator emits was emitted before. */
export function heldEvents({ turn }: RunState, open: OpenCalls, { stop }: TurnContext): Observable<RunEvent> {
  const { reason: finishReason, ...finish } = open.finish;
  const outcome = { ...finish, ...omitUndefined({ metadata: open.metadata }) };
  const end: TurnEvent = { type: 'turn', turn: turn + 1, finishReason, ...outcome };
  const last = hasEmitted(stop) ? stoppedTurn(end) : end;
  return replay(open).pipe(map((event) => (isFinish(event) ? last : event)));
}

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
    if (known.type === 'retract') this.messages = [];
    if (event.type === REPLAY_END) this.isReplaying = false;
    if (!this.isReplaying && !this.out.closed) this.work.begin();
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

  /** The turn as one that is open, with all that it has emitted: `heldEvents` emits it again. */
  private openTurn({ finishReason: reason, rawReason, usage, metadata }: TurnEvent, waits: boolean): OpenCallsEvent {
    const open: OpenCalls = {
      messages: this.messages,
      finish: { reason, ...omitUndefined({ rawReason, usage }) },
      ...omitUndefined({ metadata }),
      results: [],
      waiting: [],
    };
    return { type: 'openCalls', open, waits, state: this.state };
  }

  private stop(): void {
    this.work.stop();
    this.settle();
  }
}
