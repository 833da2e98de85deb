import {
  asyncScheduler,
  defer,
  filter,
  from,
  fromEvent,
  merge,
  NEVER,
  Observable,
  of,
  race,
  switchMap,
  take,
  timeout,
} from 'rxjs';
import { throwError, timer, type Subscriber } from 'rxjs';
import { ConnectionError, HttpError, ProtocolError, StreamInterruptedError } from '../core/errors.js';
import type { Reconnection } from '../core/connectionEvents.js';
import { isJsonObject, isRecord, nonEmptyString, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import { requireNumber } from '../core/options.js';
import { settled } from '../core/settled.js';
import { isRetryableStatus } from '../protocol/errorDetails.js';
import { cancelStream } from '../protocol/post.js';

type PlainHeaders = Readonly<Record<string, string>>;

/** What all requests of a page have in common. */
export interface PageRequestOptions {
  /**
   * The headers, or a function that returns them, now or later. It is called for each attempt (a fresh token), and once
   * more if the server answers 401. Default: none.
   */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() =>
        | Readonly<Record<string, string>>
        | Promise<Readonly<Record<string, string>>>
        | Observable<Readonly<Record<string, string>>>)
    | undefined;
  /** How many times in a row it connects again without receiving anything new. Default: 5. */
  readonly retries?: number | undefined;
  /**
   * The delay before it connects again, in milliseconds; it doubles up to 30 seconds, and up to half of it is left out
   * at random. Default: 1000.
   */
  readonly retryDelay?: number | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

interface PageRequest {
  readonly method: string;
  readonly body?: string;
  readonly headers?: PlainHeaders;
}

export const SERVER = 'the server';

/** The longest delay before a request is sent again, in milliseconds. */
const MAX_RETRY_DELAY = 30_000;

/** The longest delay that the page accepts from the service, in milliseconds. */
const MAX_RETRY_AFTER = 60_000;

/** The longest sentence that a page shows of a service. */
const MAX_SENTENCE = 500;

/** The time in which a request must be answered, in milliseconds. */
const ANSWER_TIMEOUT = 30_000;

/** The slowest upload that is not taken for a lost connection, in bytes per millisecond. */
const SLOWEST_UPLOAD = 10;

/** The time in which a request with a body must be answered, in milliseconds. */
export const answerTimeout = (body = ''): number => ANSWER_TIMEOUT + body.length / SLOWEST_UPLOAD;

/** The service has sent nothing for too long. */
export class SilentError extends StreamInterruptedError {
  constructor() {
    super(SERVER, 'The server does not answer. Try again when the connection is back.');
  }
}

const unreachable = () =>
  new ConnectionError(SERVER, 'The server cannot be reached. Try again when the connection is back.');

/** What a person reads if the service has not sent a sentence of its own: a balancer has answered. */
const sentences: Readonly<Record<number, string>> = {
  401: 'You are not signed in',
  403: 'You are not allowed to do this',
  413: 'This is too large for the server',
  429: 'There are too many requests at the moment',
};

export function statusError({ status, headers }: Response, body = ''): HttpError {
  const { message, code, params } = objectOrEmpty(objectOrEmpty(tryParseJson(body))['error']);
  const fallback = status >= 500 ? 'The server is not available at the moment' : 'The server refused the request';
  const retryAfter = delayOf(headers.get('retry-after') ?? '');
  return new HttpError(
    [
      nonEmptyString(message)?.slice(0, MAX_SENTENCE) ?? `${sentences[status] ?? fallback} (status ${status}).`,
      // A shorter delay is waited for by the page itself (`createRetryDelay`).
      ...(retryAfter > MAX_RETRY_AFTER ? [`Try again in ${Math.ceil(retryAfter / 60_000)} minutes.`] : []),
    ].join(' '),
    {
      provider: SERVER,
      status,
      retryable: isRetryableStatus(status) && code !== 'other_version', // which waits for another process
      retryAfter: retryAfter || undefined,
      providerCode: nonEmptyString(code),
      params: isJsonObject(params) ? params : undefined,
    },
  );
}

/** Reads `Retry-After`: seconds, or a date. 0: there is none. */
function delayOf(header: string): number {
  return Math.max(0, Number(header) * 1000 || Date.parse(header) - asyncScheduler.now()) || 0;
}

/** The error of a response that is not from the service: a page of a balancer, or of a network to sign in to. */
export function contentTypeError({ status, headers }: Response, expected: string): ProtocolError {
  const type = headers.get('content-type') ?? 'no content type';
  return new ProtocolError(
    SERVER,
    'content_type',
    `The server answered ${status} with ${type} instead of ${expected}.`,
  );
}

export function requireReconnection({ retries, retryDelay }: PageRequestOptions): void {
  requireNumber('retries', retries, 0);
  requireNumber('retryDelay', retryDelay, 0);
}

export const requestHeaders = ({ headers = {} }: PageRequestOptions): Observable<PlainHeaders> =>
  defer(() => settled(typeof headers === 'function' ? headers() : headers)).pipe(take(1));

/** How to make a client again. What a program has wrapped is not among them. */
const remakers = /* @__PURE__ */ new WeakMap<object, (isCurrent: () => boolean) => object>();

/** Makes what sends requests with these options. */
export function makeClient<T extends object, O extends PageRequestOptions>(make: (options: O) => T, options: O): T {
  const client = make(options);
  const headersWhile = (isCurrent: () => boolean) => () =>
    requestHeaders(options).pipe(switchMap((own) => (isCurrent() ? of(own) : NEVER)));
  remakers.set(client, (isCurrent) => make({ ...options, headers: headersWhile(isCurrent) }));
  return client;
}

/** The client of a session, after which no attempt begins: it would have the headers of the next user. */
export const whileCurrent = <T extends object>(client: T, isCurrent: () => boolean): T =>
  (remakers.get(client)?.(isCurrent) as T | undefined) ?? client;

export const addressOf = (url: string, query: Readonly<Record<string, string>>): string => {
  const parameters = new URLSearchParams(query).toString();
  return parameters === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${parameters}`;
};

export function pageFetch(
  options: PageRequestOptions,
  address: string,
  init: PageRequest,
): Observable<readonly [Response, string]> {
  const withText = (response: Response) =>
    from(
      response.text().then(
        (text) => {
          if (response.ok && isType(response, /^text\/html/)) throw contentTypeError(response, 'JSON');
          return [response, text] as const;
        },
        () => throwNow(unreachable()),
      ),
    );
  return requestHeaders(options).pipe(
    switchMap((own) => sendRequest(options, address, { ...init, headers: { ...own, ...init.headers } }, withText)),
    timeout({ first: answerTimeout(init.body), with: () => throwError(() => new SilentError()) }),
  );
}

/** `throw`, where only an expression is allowed. */
export function throwNow(error: Error): never {
  throw error;
}

export const isType = ({ headers }: Response, type: RegExp): boolean =>
  type.test((headers.get('content-type') ?? '').toLowerCase());

export function sendRequest<T>(
  { fetch = globalThis.fetch }: Pick<PageRequestOptions, 'fetch'>,
  address: string,
  init: RequestInit,
  read: (response: Response) => Observable<T>,
): Observable<T> {
  function start(out: Subscriber<T>): void {
    const controller = new AbortController();
    let isOver = false; // an abort after a failure is an uncaught error of some runtimes
    out.add(() => {
      if (!isOver) controller.abort();
    });
    // Over a redirect, `fetch` would send the conversation and the token to another host.
    const all = { ...init, redirect: 'manual', signal: controller.signal } as const;
    new Promise<Response>((resolve) => resolve(fetch(address, all))).then(
      (response) => {
        if (out.closed) cancelStream(response.body);
        else defer(() => read(response)).subscribe(out);
      },
      () => {
        isOver = true;
        out.error(unreachable());
      },
    );
  }
  return new Observable<T>(start);
}

/**
 * Creates the `delay` of `retry` for the requests of a page. It counts the retries itself: a request that is
 * sent again with fresh headers, after a 401, is not counted.
 *
 * @param mayRetry Whether a request may be sent again after an error. Default: if the error is retryable.
 * @param onReconnect Called before each delay.
 * @param wake Ends a delay, too. A page that is online or visible again ends it, unless the server has asked for it.
 */
export function createRetryDelay(
  { headers, retries = 5, retryDelay = 1000 }: PageRequestOptions,
  mayRetry: (thrown: unknown) => boolean = isRetryable,
  onReconnect?: (reconnection: Reconnection) => void,
  wake: Observable<unknown> = NEVER,
) {
  let refusedInARow = 0;
  let freshHeaders = 0;
  return (thrown: unknown, failures: number): Observable<unknown> => {
    if (failures === 1) refusedInARow = freshHeaders = 0; // the first failure, or the first one after progress
    refusedInARow = thrown instanceof HttpError && thrown.status === 401 ? refusedInARow + 1 : 0;
    if (refusedInARow === 1 && typeof headers === 'function') {
      freshHeaders += 1; // it may return a fresh token
      return of(true);
    }
    const attempt = failures - freshHeaders;
    const delay = Math.round(delayBefore(attempt, retryDelay, thrown));
    if (attempt > retries || !mayRetry(thrown) || delay > MAX_RETRY_AFTER) throw thrown;
    const reason = reasonOf(thrown);
    onReconnect?.({ attempt, delay, at: asyncScheduler.now() + delay, reason });
    return race(timer(delay), reason === 'busy' ? wake : merge(wake, awake()));
  };
}

export const isRetryable = (thrown: unknown): boolean => isRecord(thrown) && thrown['retryable'] === true;

function reasonOf(thrown: unknown): Reconnection['reason'] {
  if (thrown instanceof HttpError) return 'busy';
  return thrown instanceof SilentError ? 'silent' : 'offline';
}

const delayBefore = (attempt: number, retryDelay: number, thrown: unknown): number =>
  Math.max(
    Math.min(retryDelay * 2 ** (attempt - 1), MAX_RETRY_DELAY) * (1 - Math.random() / 2),
    thrown instanceof HttpError ? (thrown.retryAfter ?? 0) : 0,
  );

/** Emits when the page is online again, or visible again. Another runtime than a browser has no such events. */
export const awake = (): Observable<Event> =>
  typeof document === 'undefined'
    ? NEVER
    : merge(
        fromEvent(globalThis, 'online'),
        fromEvent(document, 'visibilitychange').pipe(filter(() => document.visibilityState === 'visible')),
      );
