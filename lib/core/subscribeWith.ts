import { Observable } from 'rxjs';
import type { Observer, Subscriber } from 'rxjs';

/**
 * Subscribes to a source that is left when an output closes: also in the very emission in which that happens, while a synchronous source still
 * subscribes and has returned no subscription yet.
 *
 * The Observable in between is there for its subscriber, which is known before the source is subscribed. `takeUntil` with a Subject does the same, for two
 * more calls a value and five more objects a subscription.
 *
 * @param out The output.
 * @param source What is subscribed.
 * @param observer Takes the notifications. It must not throw: RxJS would report it, and nobody would be told.
 * @param tornDown Called when the subscription has ended, however it did, and all of the source's resources are gone. Default: nothing.
 */
export function subscribeWith<T>(out: Subscriber<unknown>, source: Observable<T>, observer: Observer<T>, tornDown?: () => void): void {
  new Observable<T>((inner) => {
    out.add(inner); // first of all, so that the source is torn down before what is added to the output later (`finalize`)
    source.subscribe(inner);
    if (tornDown) inner.add(tornDown); // last of all: RxJS tears down in the order of what was added
  }).subscribe(observer);
}
