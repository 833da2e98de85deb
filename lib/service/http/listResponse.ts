import { catchError, defer, map, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { RequestError } from './requestError.js';

export const NOT_CACHED = { 'cache-control': 'no-store' };

/** Answers a `GET` with a page of a list, from its `?cursor=`. It fails with a RequestError 400 for a forged one. */
export const listResponse = (request: Request, page: (cursor?: string) => Observable<object>): Observable<Response> =>
  defer(() => {
    const cursor = new URL(request.url).searchParams.get('cursor') ?? undefined;
    return page(cursor).pipe(
      map((list) => Response.json(list, { headers: NOT_CACHED })),
      catchError((thrown: unknown) => {
        if (cursor === undefined || !(thrown instanceof ConfigurationError)) throw thrown;
        throw new RequestError(400, 'Send `next` of the page before as `?cursor=`.');
      }),
    );
  });
