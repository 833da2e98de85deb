import { NEVER, noop, Observable, startWith, Subject, takeUntil } from 'rxjs';
import type { Checkpoint } from './checkpoint.js';
import { subscribeUntilClosed } from './createOperator.js';
import { InnerWork } from './innerWork.js';
import type { OuterRun } from './nested.js';
import type { Semaphore } from './semaphore.js';

/**
 * A place that a call needs while it works, or waits in memory. While it waits for the place, the call is paused: it
 * may wait for a person. When all that it does inside is suspended, others of the same call may get the place.
 */
export class HeldPlace extends InnerWork {
  private isHeld = false;
  private isPaused = false;
  private waiting: (() => void)[] = [];
  private readonly left = new Subject<void>();

  constructor(
    private readonly semaphore: Semaphore,
    private readonly outer: OuterRun,
    /** What the place is a part of. */
    private readonly outside: InnerWork,
  ) {
    super();
  }

  /** Subscribes the source when there is a place, and leaves it after its teardown. */
  limit<T>(source: Observable<T>): Observable<T> {
    return new Observable((out) => {
      let hasBegun = false;
      out.add(() => hasBegun || this.leave());
      this.enter(() => {
        hasBegun = true;
        if (!out.closed) subscribeUntilClosed(out, source, { next: (value) => out.next(value) });
        out.add(() => this.leave());
      });
    });
  }

  override begin(): () => void {
    const [endHere, endOutside] = [super.begin(), this.outside.begin()];
    return () => {
      endHere();
      endOutside();
    };
  }

  override suspend(checkpoint: Checkpoint): void {
    super.suspend(checkpoint);
    this.outside.suspend(checkpoint);
  }

  override goOn(order: number, work: () => void): void {
    this.outside.goOn(order, () => this.enter(() => super.goOn(order, work)));
  }

  protected override suspendAll(): void {
    if (this.waiting.length === 0) this.leave();
  }

  private enter(work: () => void): void {
    if (this.isHeld) {
      work();
      return;
    }
    this.waiting.push(work);
    if (this.waiting.length > 1) return;
    let isGranted = false;
    const begin = () => {
      this.isPaused = false;
      for (let next = this.waiting.shift(); next; next = this.waiting.shift()) next(); // it may end at once
    };
    const place = NEVER.pipe(startWith(undefined), this.semaphore.limit(), takeUntil(this.left));
    place.subscribe(() => {
      isGranted = this.isHeld = true;
      if (this.isPaused) this.outer.proceed(this, begin);
      else begin();
    });
    if (isGranted) return;
    this.isPaused = true;
    this.outer.pause(this);
  }

  private leave(): void {
    if (this.isPaused && !this.isHeld) this.outer.proceed(this, noop); // the call may go on without the place
    this.isHeld = this.isPaused = false;
    this.waiting = [];
    this.left.next();
  }
}
