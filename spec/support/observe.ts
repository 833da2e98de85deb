import { Observable } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';

/** Subscribes, and records the notifications of an Observable. */
export function observe<T>(source: Observable<T>) {
  const log = { values: [] as T[], error: undefined as unknown, completed: false, closed: () => subscription.closed };
  const subscription = source.subscribe({
    next: (value) => log.values.push(value),
    error: (error: unknown) => (log.error = error),
    complete: () => (log.completed = true),
  });
  return Object.assign(log, { subscription });
}

/** An endless synchronous source that counts its values, subscriptions and teardowns. */
export function countedSource(make: (n: number) => StreamEvent) {
  const count = { pulled: 0, subscribed: 0, torndown: 0 };
  const source = new Observable<StreamEvent>((out) => {
    count.subscribed++;
    while (!out.closed && count.pulled < 100_000) out.next(make(++count.pulled));
    return () => count.torndown++;
  });
  return { count, source };
}
