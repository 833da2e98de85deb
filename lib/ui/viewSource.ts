import { BehaviorSubject } from 'rxjs';
import type { Observable } from 'rxjs';

/**
 * Emits the current view after each change. A change that a subscriber causes is emitted after the change before it, so
 * that all subscribers see the same order.
 */
export class ViewSource<T> {
  readonly views$: Observable<T>;
  private readonly views: BehaviorSubject<T>;
  private hasChanged = false;
  private isEmitting = false;

  constructor(private readonly current: () => T) {
    this.views = new BehaviorSubject(current());
    this.views$ = this.views.asObservable();
  }

  changed(): void {
    this.hasChanged = true;
    if (this.isEmitting) return;
    this.isEmitting = true;
    while (this.hasChanged) {
      this.hasChanged = false;
      this.views.next(this.current());
    }
    this.isEmitting = false;
  }
}
