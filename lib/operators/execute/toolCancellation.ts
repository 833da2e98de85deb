import { asyncScheduler } from 'rxjs';
import type { Subscription } from 'rxjs';
import { ignoreTeardownErrors } from '../../core/ignoreTeardownErrors.js';
import { toolErrorTexts } from '../../core/message.js';
import { MAX_TIMER_DELAY } from '../../core/options.js';
import { ToolFailure } from './toolFailure.js';

/** The failure of a call that is cancelled. */
export const cancellation = () => new ToolFailure('cancelled', toolErrorTexts.cancelled);

export class ToolCancellation {
  output: Subscription | undefined;
  private timer: Subscription | undefined;
  private controller: AbortController | undefined; // created only if the tool reads its signal

  /** Calls `onTimeout` when the time has passed, unless the tool is released before. */
  limit(deadline: number, onTimeout: () => void): void {
    if (deadline !== Infinity) this.timer = asyncScheduler.schedule(onTimeout, Math.min(deadline, MAX_TIMER_DELAY));
  }

  /** Ends the deadline and unsubscribes the output. An error of the tool's own cleanup does not end the run. */
  release(): void {
    this.timer?.unsubscribe();
    ignoreTeardownErrors(() => this.output?.unsubscribe());
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
