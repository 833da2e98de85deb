import { from, take, type ObservableInput, type Subscriber } from 'rxjs';

/** Calls back until the output closes. As with `takeUntil`, an error of the notifier fails the output. */
export const onFirstValue = (out: Subscriber<unknown>, notifier: ObservableInput<unknown>, notify: () => void): void =>
  onEachValue(out, from(notifier).pipe(take(1)), notify);

export function onEachValue<T>(
  out: Subscriber<unknown>,
  notifier: ObservableInput<T>,
  notify: (value: T) => void,
): void {
  if (out.closed) return;
  out.add(from(notifier).subscribe({ next: notify, error: (thrown: unknown) => out.error(thrown) }));
}

/** For a notifier that remembers its value (a ReplaySubject). */
export function hasEmitted(notifier: ObservableInput<unknown> | undefined): boolean {
  if (!notifier) return false;
  let emitted = false;
  from(notifier)
    .pipe(take(1))
    .subscribe({ next: () => (emitted = true), error: () => undefined })
    .unsubscribe();
  return emitted;
}
