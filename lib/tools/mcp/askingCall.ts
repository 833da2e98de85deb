import type { ElicitResult } from '@modelcontextprotocol/client';
import { catchError, concatMap, defer, delay, finalize, forkJoin, from } from 'rxjs';
import { lastValueFrom, map, merge, mergeMap, Observable, of, partition, Subject, takeLast } from 'rxjs';
import { takeUntil, tap, throwError, throwIfEmpty, toArray } from 'rxjs';
import type { MonoTypeOperatorFunction, ObservableInput } from 'rxjs';
import { isRecord, objectOrEmpty, omitUndefined, type JsonObject } from '../../core/json/json.js';
import { HeldPlace } from '../../core/heldPlace.js';
import type { OuterRun } from '../../core/nested.js';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
import { TimeoutError } from '../../core/timeoutError.js';
import { ToolCancellation } from '../../operators/execute/toolCancellation.js';
import type { McpCallOptions, McpClient } from './client.js';
import { refusal, requiredPages, type Elicit } from './serverQuestion.js';

export type ServerRequests = Readonly<Record<string, (params: JsonObject) => ObservableInput<JsonObject>>>;

const ELICIT = 'elicitation/create';

const MAX_ROUNDS = 100;

/** A server that requires nothing of a person wants to be asked again later. */
const PAUSE = 250;

/**
 * Sends a call again with what the server requires, until there is a result (revision 2026-07-28: `input_required`).
 * `send` receives fields for the parameters of the request. Pages that an earlier revision requires are opened first.
 */
export function inRounds<T>(
  send: (fields: JsonObject) => Observable<T>,
  elicit: Elicit,
  requests: ServerRequests = {},
): Observable<T> {
  const answer = (request: JsonObject): Observable<JsonObject> => {
    const { method = '', params } = request;
    if (method === ELICIT) return elicit(params);
    if (typeof method !== 'string') throw refusal('The MCP server requires something without a name.');
    const known = Object.hasOwn(requests, method) ? requests[method] : undefined;
    if (!known) throw refusal(`The MCP server requires "${method}" of this application, which does not allow it.`);
    return from(known(objectOrEmpty(params)));
  };
  const round = (fields: JsonObject, count: number): Observable<T> =>
    send(fields).pipe(
      concatMap((value) => {
        if (!isRecord(value) || value['resultType'] !== 'input_required') return of(value);
        const { inputRequests, requestState } = value;
        const required = Object.entries(objectOrEmpty(inputRequests));
        const respond = ([key, request]: (typeof required)[number]) =>
          defer(() => answer(objectOrEmpty(request))).pipe(
            takeLast(1),
            map((given) => [key, given] as const),
          );
        const [questions, others] = partition(required, ([, request]) => objectOrEmpty(request)['method'] === ELICIT);
        const responses = merge(others.pipe(concatMap(respond)), questions.pipe(mergeMap(respond))).pipe(toArray());
        return (required.length > 0 ? responses : responses.pipe(delay(PAUSE))).pipe(
          map((given) => omitUndefined({ inputResponses: Object.fromEntries(given), requestState }) as JsonObject),
          concatMap((next) => again(next, count)),
        );
      }),
      catchError((thrown: unknown) => {
        const pages = requiredPages(thrown).map((page) => elicit({ ...page, mode: 'url' }));
        if (pages.length === 0) throw thrown;
        return forkJoin(pages).pipe(
          concatMap((opened) =>
            opened.every(({ action }) => action === 'accept') ? again(fields, count) : throwError(() => thrown),
          ),
        );
      }),
    );
  const again = (fields: JsonObject, count: number) =>
    count < MAX_ROUNDS ? round(fields, count + 1) : throwError(() => refusal('The MCP server asks without an end.'));
  return round({}, 1);
}

/**
 * What a connection of an earlier revision needs, where a server sends a question as a request that does not say which
 * call it is of: the calls are sent one after the other.
 */
export interface Asking {
  readonly queue: Semaphore;
  readonly open: Set<OpenCall>;
}

interface OpenCall {
  readonly elicit: Elicit;
  /** Errors when an answer could not be sent. */
  readonly unsent: Subject<never>;
}

/** Whether the application has set a handler for questions: it answers instead of a person of the run. */
export function hasOwnHandler(client: McpClient): boolean {
  try {
    client.assertCanSetRequestHandler?.(ELICIT);
    return false;
  } catch {
    return !connections.get(client);
  }
}

const connections = new WeakMap<McpClient, Asking | undefined>();

/**
 * Undefined if the server cannot ask, since the client does not declare it. In a session that is opened again, the
 * calls of the `lost` one are asked.
 */
export function askingOf(client: McpClient, lost?: Asking): Asking | undefined {
  if (!connections.has(client) && !hasOwnHandler(client)) connections.set(client, listen(client, lost));
  return connections.get(client);
}

function listen(client: McpClient, lost?: Asking): Asking | undefined {
  if (!client.setRequestHandler) return undefined;
  const { queue, open } = lost ?? { queue: createSemaphore(1), open: new Set<OpenCall>() };
  let answered: OpenCall | undefined;
  try {
    client.setRequestHandler(ELICIT, async ({ params }) => {
      const [call, another] = open;
      if (!call || another) throw refusal('No call could have asked this, or more than one.');
      // eslint-disable-next-line rxjs-x/no-ignored-default-value -- the calls in `open` throw if there is none
      const answer = await lastValueFrom(call.elicit(params));
      answered = call;
      return answer as ElicitResult; // the server validates the content, too
    });
  } catch {
    return undefined; // the client does not declare that it can be asked
  }
  const { onerror } = client;
  client.onerror = (error) => {
    onerror?.(error);
    if (error.message.startsWith('Failed to send response')) answered?.unsent.error(refusal(unsentAnswer));
  };
  return { queue, open };
}

/** The call is not sent again: what it did before the question would be repeated. */
const unsentAnswer =
  'The MCP server did not receive the answer of a person, for example since it has lost the session. ' +
  'The call may have been executed in part.';

/** Sends a call when no other is open, unless that waits for a person, whose time counts for no limit. */
export function sendAlone<T>(
  { queue, open }: Asking,
  elicit: Elicit,
  limits: McpCallOptions,
  outer: OuterRun,
  send: () => Observable<T>,
): Observable<T> {
  return new HeldPlace(queue, outer, outer).limit(defer(() => sendOpen(open, elicit, limits, outer, send)));
}

/** The client's own default. */
const TIMEOUT = 60_000;

/** A limit of time that does not count the time of a person. Each value restarts it, if it `restarts`. */
export function within<T>(limit = Infinity, outer?: OuterRun, restarts = false): MonoTypeOperatorFunction<T> {
  return (source) =>
    defer(() => {
      const exceeded = new Subject<never>();
      const clock = new ToolCancellation();
      clock.limit(limit, () => exceeded.error(new TimeoutError('tool', limit)));
      outer?.clocks.add(clock);
      return source.pipe(
        tap(() => restarts && clock.restart()),
        takeUntil(exceeded),
        finalize(() => {
          clock.release();
          outer?.clocks.delete(clock);
        }),
      );
    });
}

function sendOpen<T>(
  open: Asking['open'],
  elicit: Elicit,
  { timeout = TIMEOUT, resetTimeoutOnProgress = true }: McpCallOptions,
  outer: OuterRun,
  send: () => Observable<T>,
): Observable<T> {
  const ended = new Subject<void>();
  const call: OpenCall = {
    elicit: (params) =>
      elicit(params).pipe(
        takeUntil(ended),
        throwIfEmpty(() => refusal('The call has ended before the answer.')),
      ),
    unsent: new Subject(),
  };
  open.add(call);
  return send().pipe(
    within(timeout, outer, resetTimeoutOnProgress),
    takeUntil(call.unsent),
    finalize(() => {
      open.delete(call);
      ended.next();
    }),
  );
}
