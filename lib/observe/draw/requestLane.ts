import { formatTime, type Lane, type Outcome, type Span, type Tick } from './drawnLane.js';

/** Milliseconds between two deltas that are drawn as a silence. */
const SILENCE_TIME = 1000;

/** Milliseconds before an HTTP request. A shorter pause is the work of encoding. */
const UNSENT_TIME = 50;

export class RequestLane {
  private attemptStart: number;
  private attemptTicks = 0;
  /** A wait begins with the attempt, or after the pause before its retry. */
  private waitStart: number;
  private firstTick: number | undefined;
  private lastTick: number;

  constructor(readonly lane: Lane) {
    this.attemptStart = this.waitStart = this.lastTick = lane.start;
  }

  get isClosed(): boolean {
    return this.lane.end !== undefined;
  }

  tick(tick: Tick): void {
    const { lane } = this;
    if (this.firstTick === undefined) {
      this.firstTick = tick.at;
      const from = this.waitStart;
      const label = `first content after ${formatTime(tick.at - lane.start)}`;
      if (tick.at > from) lane.spans.push({ kind: 'wait', from, to: tick.at, label });
    } else {
      this.drawSilence(tick.at);
    }
    this.lastTick = tick.at;
    lane.ticks.push(tick);
  }

  /** A limiter of the application may have held the request back. */
  send(at: number): void {
    const { lane } = this;
    const pause = at - lane.start;
    if (pause < UNSENT_TIME) return;
    this.pause({ kind: 'queued', from: lane.start, to: at, label: `sent after ${formatTime(pause)}` });
  }

  pause(span: Span): void {
    this.waitStart = Math.max(this.waitStart, span.to);
    this.lane.spans.push(span);
  }

  retract(at: number): void {
    const { lane, attemptStart } = this;
    this.drawAnswer(at);
    for (const tick of lane.ticks.slice(this.attemptTicks)) tick.isVoid = true;
    this.attemptTicks = lane.ticks.length;
    lane.spans.push({ kind: 'void', from: attemptStart, to: at, label: 'retracted: what was emitted is void' });
    lane.marks.push({ kind: 'retract', at, label: 'retract' });
    this.attemptStart = this.lastTick = at;
    this.waitStart = Math.max(this.waitStart, at);
    this.firstTick = undefined;
  }

  close(at: number, outcome: Outcome): void {
    const { lane } = this;
    if (this.isClosed) return;
    if (this.firstTick === undefined && at > this.waitStart)
      lane.spans.push({ kind: 'wait', from: this.waitStart, to: at, label: 'no content' });
    this.drawAnswer(at);
    lane.note = this.summary();
    lane.close(at, outcome);
  }

  private drawAnswer(at: number): void {
    if (this.firstTick === undefined) return;
    this.drawSilence(at);
    const label = `answered for ${formatTime(at - this.firstTick)}`;
    this.lane.spans.push({ kind: 'answer', from: this.firstTick, to: at, label });
  }

  private drawSilence(at: number): void {
    const pause = at - this.lastTick;
    if (pause < SILENCE_TIME) return;
    this.lane.spans.push({ kind: 'silence', from: this.lastTick, to: at, label: `silent for ${formatTime(pause)}` });
  }

  private summary(): string {
    const { ticks } = this.lane;
    const [first] = ticks;
    const last = ticks.at(-1);
    if (!first || !last) return 'no content';
    const characters = ticks.reduce((sum, { size }) => sum + size, 0);
    const seconds = (last.at - first.at) / 1000;
    const rate = seconds > 0 ? `, ${Math.round(characters / seconds).toLocaleString('en-US')} characters/s` : '';
    return `${ticks.length.toLocaleString('en-US')} delta${ticks.length === 1 ? '' : 's'}${rate}`;
  }
}
