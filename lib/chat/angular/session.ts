import { computed, linkedSignal, untracked } from '@angular/core';
import { toObservable } from '@angular/core/rxjs-interop';
import { defer, dematerialize, filter, materialize, merge, NEVER, takeUntil, type Observable } from 'rxjs';
import { whileCurrent } from '../../transport/pageFetch.js';
import { injectUserKey } from './provideAgent.js';

/**
 * Injects the time in which a page belongs to a user, until another one, a logout or `end`: the `key` of the user under
 * a name, `source`, which is another value in each session, and `guard`. Of a request of an earlier session, `guard`
 * lets nothing through, not even the end, and sends nothing more. Without a user, nothing is requested.
 */
export function injectSession(name: string) {
  const userKey = injectUserKey();
  const key = computed(() => userKey(name));
  const current = linkedSignal(() => ({ key: key() }));
  const current$ = toObservable(current);
  return {
    key,
    source: current.asReadonly(),
    end: () => current.update((ended) => ({ ...ended })),
    guard: <C extends object, T>(client: C, request: (client: C) => Observable<T>): Observable<T> =>
      defer(() => {
        const own = untracked(current);
        if (own.key === undefined) return NEVER;
        const isOwn = () => untracked(current) === own; // also before Angular has run the effect of `current$`
        const ended$ = current$.pipe(filter(() => !isOwn()));
        const answer$ = request(whileCurrent(client, isOwn));
        return merge(answer$.pipe(materialize(), filter(isOwn), takeUntil(ended$)), NEVER).pipe(dematerialize());
      }),
  };
}
