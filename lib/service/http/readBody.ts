import { catchError, defer, from, map, reduce, timeout, throwError } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable, ObservableInput } from 'rxjs';
import { BACKSLASH, COMMA, isOpening, QUOTE } from '../../core/json/scan.js';
import { RequestError } from './requestError.js';

/** How long the identification of a client, and the body of a request, may take, in milliseconds. */
const WORK_TIME = 30_000;

export const inTime = <T>(late: () => RequestError): MonoTypeOperatorFunction<T> =>
  timeout({ first: WORK_TIME, with: () => throwError(() => late()) });

/**
 * Reads the body of a request. It fails with a RequestError 413 if it has more bytes or too many values, and 408 if it
 * is late.
 *
 * @param note Called with the number of bytes that have arrived. If it throws, nothing more is read.
 */
export const readBody = (request: Request, maxBytes: number, note?: (bytes: number) => void): Observable<string> =>
  defer(() => {
    const decoder = new TextDecoder();
    let size = 0;
    return from((request.body ?? []) as ObservableInput<Uint8Array>).pipe(
      catchError(() => throwError(() => new RequestError(400, 'The request could not be read.'))),
      reduce((text, bytes) => {
        size += bytes.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        note?.(size);
        return text + decoder.decode(bytes, { stream: true });
      }, ''),
      map((text) => requireFewValues(text + decoder.decode())),
      inTime(lateBody),
    );
  });

export const lateBody = () => new RequestError(408, 'The body of the request did not arrive in time. Send it again.');

/** The densest chat of 4 MiB has fewer. With millions of them, the service answers nobody for half a minute. */
const MAX_VALUES = 500_000;

function requireFewValues(text: string): string {
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) isInString = !isInString;
    else if (!isInString && (code === COMMA || isOpening(code)) && ++count > MAX_VALUES)
      throw new RequestError(413, `Send at most ${MAX_VALUES} values.`);
  }
  return text;
}

const tooLarge = (max: number) =>
  new RequestError(413, `Send at most ${max} bytes.`, {}, { code: 'request_too_large', params: { max } });
