import { catchError, concat, defer, EMPTY, ignoreElements, map, takeUntil, takeWhile, timer } from 'rxjs';
import type { Observable } from 'rxjs';

/** In bytes. The rest is not read. */
const BODY_LIMIT = 65_536;

/** In milliseconds: a server that never ends the body must not delay an error whose status is known. */
const BODY_TIMEOUT = 5_000;

/** The text of an error's body: a server may send one without an end. */
export const readBeginning = <T>(bytes: Observable<Uint8Array>, then: (text: string) => Observable<T>): Observable<T> =>
  defer(() => {
    const decoder = new TextDecoder();
    let text = '';
    const read = bytes.pipe(
      map((chunk) => (text += decoder.decode(chunk.subarray(0, BODY_LIMIT), { stream: true })).length),
      takeWhile((length) => length < BODY_LIMIT),
      ignoreElements(),
      catchError(() => EMPTY), // The status explains more than a connection that broke during the text.
      takeUntil(timer(BODY_TIMEOUT)),
    );
    return concat(
      read,
      defer(() => then(text.slice(0, BODY_LIMIT))),
    );
  });
