import { defer, EMPTY, expand, take, type Observable } from 'rxjs';

export function allPages<P extends { readonly next?: string | undefined }>(
  list: (cursor?: string) => Observable<P>,
): Observable<P> {
  const page = (cursor?: string) => defer(() => list(cursor)).pipe(take(1));
  return page().pipe(expand(({ next }) => (next === undefined ? EMPTY : page(next))));
}
