import { asyncScheduler, type Subscription } from 'rxjs';
import { reportErrorsOf } from '../../core/reportUnhandled.js';
import { MAX_TIMER_DELAY } from '../../core/options.js';

/** The means to end a running tool (output, signal, deadline): `ToolExecution` uses them, for `CallRound.cancel`. */
export class ToolCancellation {
  output: Subscription | undefined;
  private timer: Subscription | undefined;
  private deadline = Infinity;
  private remaining = Infinity;
  private started = 0;
  private onTimeout: () => void = () => undefined;
  private controller: AbortController | undefined; // created only if the tool reads its signal

  limit(deadline: number, onTimeout: () => void): void {
    this.deadline = this.remaining = deadline;
    this.onTimeout = onTimeout;
    this.proceed();
  }

  /** The time until `proceed` does not count. */
  pause(): void {
    if (!this.timer) return;
    this.timer.unsubscribe();
    this.timer = undefined;
    this.remaining -= asyncScheduler.now() - this.started;
  }

  proceed(): void {
    if (this.remaining === Infinity || this.timer) return;
    this.started = asyncScheduler.now();
    this.timer = asyncScheduler.schedule(this.onTimeout, Math.min(this.remaining, MAX_TIMER_DELAY));
  }

  /** All of the time is left again. A pause goes on. */
  restart(): void {
    const isPaused = !this.timer;
    this.pause();
    this.remaining = this.deadline;
    if (!isPaused) this.proceed();
  }

  /** An error of the tool's own cleanup does not end the run. */
  release(): void {
    this.timer?.unsubscribe();
    reportErrorsOf(() => this.output?.unsubscribe());
  }

  abort(): void {
    this.controller?.abort();
  }

  signal(isCancelled: boolean): AbortSignal {
    this.controller ??= new AbortController();
    if (isCancelled) this.controller.abort();
    return this.controller.signal;
  }
}
