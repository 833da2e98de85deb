import { asapScheduler, asyncScheduler } from 'rxjs';

/**
 * The time of RxJS's clock, in whole milliseconds. A replay in virtual time adds a millionth of a millisecond per step,
 * and may lose as much by rounding.
 */
export const wholeTime = (): number => Math.floor(asyncScheduler.now() + 1e-7);

/**
 * The time of RxJS's clock, read once for everything that is emitted together: one network read has many deltas, and
 * where reading the clock takes 100 ns (in virtual machines), it would be the largest part of what a recorded delta
 * costs.
 */
export class RecordingClock {
  private time: number | undefined;
  private latest = -Infinity;

  /** The time at which the synchronous work began that emits this value. */
  now(): number {
    return this.time ?? this.read();
  }

  /**
   * The time at this moment. Later values of the same work have it too, so that times never decrease. They do not
   * either if the clock of the machine is set back: the time stands still.
   */
  read(): number {
    // A scheduler of RxJS, so that it works in virtual time: it forgets the time before the next frame.
    if (this.time === undefined) asapScheduler.schedule(() => (this.time = undefined));
    return (this.time = this.latest = Math.max(this.latest, wholeTime()));
  }
}
