import { asyncScheduler, defer, EMPTY, expand, subscribeOn, take, type Observable } from 'rxjs';

/**
 * Between two pages, or two rows of deletions, in milliseconds: other requests are served. Node does not read its
 * sockets before a timer that is due already.
 */
export const PAUSE = 5;

export function allPages<P extends { readonly next?: string | undefined }>(
  list: (cursor?: string) => Observable<P>,
): Observable<P> {
  const page = (cursor?: string) => defer(() => list(cursor)).pipe(take(1));
  return page().pipe(
    expand(({ next }) => (next === undefined ? EMPTY : page(next).pipe(subscribeOn(asyncScheduler, PAUSE)))),
  );
}
