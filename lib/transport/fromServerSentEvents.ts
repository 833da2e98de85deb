import { asyncScheduler, defer, filter, from, map, retry, switchMap, type Observable, type Subscription } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { HttpError, ProtocolError, RivuletError, StreamInterruptedError } from '../core/errors.js';
import type { Reconnection } from '../core/connectionEvents.js';
import type { RunEvent, StreamEvent } from '../core/event.js';
import { MAX_TIMER_DELAY } from '../core/options.js';
import { isRecord, nonEmptyString, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import type { Fields, JsonObject } from '../core/json/json.js';
import { readStream } from '../protocol/post.js';
import { mergeHeaders } from '../protocol/request.js';
import { createSseReader } from '../protocol/sse.js';
import type { Frame } from '../protocol/wire.js';
import { createRestorer } from './compactEvents.js';
import { hasForm } from './eventForm.js';
import {
  answerTimeout,
  awake,
  contentTypeError,
  createRetryDelay,
  isRetryable,
  isType,
  requestHeaders,
  requireReconnection,
  sendRequest,
  SERVER,
  SilentError,
  statusError,
  throwNow,
} from './pageFetch.js';
import type { PageRequestOptions } from './pageFetch.js';
import { randomId } from './randomId.js';
import { HELLO_EVENT, START_EVENT } from './serverSentEvents.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** The request to the server that runs the agent. */
export interface RunRequest extends Pick<PageRequestOptions, 'headers'> {
  /**
   * The id of the run, sent as the header `x-run-id`: 32 hexadecimal digits or a UUID. Pass one to stop the run by it.
   * Default: a random id for each subscription.
   */
  readonly id?: string | undefined;
  /** The body, sent as JSON. Default: `{}`. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of `fromServerSentEvents`. */
export interface FromServerSentEventsOptions extends Omit<PageRequestOptions, 'headers'> {
  /** Called when the connection has broken, before the delay. Default: nothing is called. */
  readonly onReconnect?: ((reconnection: Reconnection) => void) | undefined;
  /** Called when the connection is open again, after `onReconnect`. Default: nothing is called. */
  readonly onConnect?: (() => void) | undefined;
  /**
   * Whether the server joins a repeated request with the same run id, as `agentHandler` and `joinRun` do. A connection
   * that breaks before the first event is then opened again. Default: false, since the run could start twice.
   */
  readonly joins?: boolean | undefined;
  /** Ends a delay before it connects again: the person asks for it. Default: none. */
  readonly reconnect?: Observable<unknown> | undefined;
}

/** The run failed at the server, which reports `code` and `message`. */
export class RemoteRunError extends RivuletError {
  override readonly name = 'RemoteRunError';
  override readonly retryable: boolean;

  /**
   * `code` is the one at the server (`timeout`, `http`, `internal`), and `message` is for the user. Without a
   * `description`, it was not a Rivulet service.
   */
  constructor(
    readonly code: string,
    message: string,
    retryable: boolean,
    readonly description?: JsonObject,
  ) {
    super(message);
    this.retryable = retryable;
  }

  protected override details(): Fields {
    return { code: this.code };
  }
}

/** The name of the header that identifies a run. A repeated request with the same id joins the run. */
export const RUN_ID_HEADER = 'x-run-id';

/**
 * Reads a run that another process executes and sends with `toServerSentEvents` or `runResponse`.
 *
 * <span class="informal">`agent.stream`, but the agent and its key are at the server.</span>
 *
 * Cold: each subscription is a POST with a run id of its own, and unsubscribing closes the connection. If the
 * connection breaks before the end of the run, it connects again with the same run id and `Last-Event-ID`: no event is
 * lost or repeated, and the server does not start another run. A plain run, without ids, is not requested again after
 * the server has begun to respond. The events equal those of the agent at the server, without checkpoints.
 *
 * ```ts
 * fromServerSentEvents('/api/runs', { body: { input: 'How warm is it in Oslo?' } })
 *   .pipe(filter(isText))
 *   .subscribe(({ text }) => append(text));
 * ```
 *
 * @param url The URL, absolute or relative to the page.
 * @param request `body` (default: `{}`), `headers` (default: none), `id` (default: random).
 * @param options `retries` (default: 5), `retryDelay` in milliseconds (default: 1000), `fetch`.
 * @returns The events of the run. It fails with a RemoteRunError if the run failed at the server, with an HttpError or
 * a ConnectionError if the server cannot be reached, and with a StreamInterruptedError if it cannot be reached again.
 */
export function fromServerSentEvents<E extends StreamEvent = RunEvent>(
  url: string,
  request: RunRequest = {},
  options: FromServerSentEventsOptions = {},
): Observable<E> {
  const { onReconnect, onConnect, joins = false, fetch, reconnect } = options;
  requireReconnection(options);
  return defer(() => {
    const runId = request.id ?? randomId();
    const restore = createRestorer();
    let lastEventId: string | undefined;
    let hasStarted = false;
    let isBroken = false;
    const { headers, body = {} } = request;
    const content = JSON.stringify(body);
    /** After the first event, the server only joins the run: files are not sent again. */
    const hasJoined = () => joins && lastEventId !== undefined && lastEventId !== '0';
    const connect = requestHeaders(request).pipe(
      switchMap((own) =>
        sendRequest(
          { fetch },
          url,
          {
            method: 'POST',
            headers: mergeHeaders({ accept: 'text/event-stream', 'content-type': 'application/json' }, own, {
              [RUN_ID_HEADER]: runId,
              ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
            }),
            body: hasJoined() ? '{}' : content,
          },
          readBody,
        ),
      ),
      readMessages(answerTimeout(content)),
    );
    /** A client that was allowed to read the run may have to get a new token first. */
    const isExpired = (thrown: unknown) =>
      lastEventId !== undefined && thrown instanceof HttpError && [401, 403].includes(thrown.status);
    const mayRetry = (thrown: unknown) =>
      isExpired(thrown) || mayConnectAgain(thrown, lastEventId !== undefined || (joins && !hasStarted));
    const onBroken = (reconnection: Reconnection) => {
      isBroken = true;
      reportRejection(onReconnect?.(reconnection));
    };
    return connect.pipe(
      filter(({ id, event }) => {
        hasStarted = true;
        if (isBroken) reportRejection(onConnect?.());
        isBroken = false;
        // The start, like a repeated event, is not progress: a server that closes after it would get endless requests.
        if (event === START_EVENT) lastEventId ??= id;
        else return id === undefined || id !== lastEventId || event === 'failed';
        return false;
      }),
      map((message) => {
        if (message.event === 'failed') throw remoteRunError(objectOrEmpty(tryParseJson(message.data)));
        lastEventId = message.id ?? lastEventId;
        return restoreEvent(restore, message.data) as E;
      }),
      retry({
        resetOnSuccess: true,
        delay: createRetryDelay({ ...options, headers }, mayRetry, onBroken, reconnect),
      }),
    );
  });
}

/** Some servers do not name the type of a stream. A refusal is an error for the user of a page. */
function readBody(response: Response): Observable<Uint8Array> {
  const { ok, body } = response;
  if (!ok) {
    const refused = (text?: string) => throwNow(statusError(response, text));
    return from(response.text().then(refused, () => refused()));
  }
  if (!isType(response, /^$|^text\/(event-stream|plain)|octet-stream/))
    throw contentTypeError(response, 'text/event-stream');
  if (!body) throw interrupted();
  return readStream(body, interrupted);
}

const interrupted = () => new StreamInterruptedError(SERVER, 'The connection ended before the run.');

/** A run can go on if nothing was received, or if the server joins it. */
function mayConnectAgain(thrown: unknown, canJoin: boolean): boolean {
  if (!isRetryable(thrown) || thrown instanceof RemoteRunError) return false;
  return canJoin || !(thrown instanceof StreamInterruptedError);
}

/** A service is lost when two heartbeats are missing, or one while the page was hidden; before any, after `limit`. */
function readMessages(limit: number) {
  return createOperator<Uint8Array, Frame>((out) => {
    let heartbeat: number | undefined;
    let hasFrames = false;
    let last = asyncScheduler.now();
    let silence: Subscription | undefined;
    const lose = () => out.error(new SilentError());
    const watch = () => {
      silence?.unsubscribe();
      silence = undefined;
      last = asyncScheduler.now();
      const longest = hasFrames ? heartbeat && heartbeat * LONGEST_SILENCE : limit;
      if (longest !== undefined && !out.closed)
        silence = asyncScheduler.schedule(lose, Math.min(longest, MAX_TIMER_DELAY));
    };
    const reader = createSseReader({ provider: SERVER }, (frame) => {
      hasFrames = true;
      if (frame.event === 'end') out.complete();
      else if (frame.event === HELLO_EVENT) heartbeat = heartbeatOf(frame.data);
      else out.next(frame);
    });
    out.add(() => silence?.unsubscribe());
    out.add(
      awake().subscribe({
        next({ type }) {
          if (heartbeat && (type === 'online' || asyncScheduler.now() - last > heartbeat)) lose();
        },
        error: (thrown: unknown) => out.error(thrown),
      }),
    );
    watch();
    return {
      next(bytes) {
        reader.push(bytes);
        watch();
      },
      complete() {
        throw interrupted();
      },
    };
  });
}

/** Heartbeats: one is left out after an event, so two intervals may be silent. */
const LONGEST_SILENCE = 2.5;

function heartbeatOf(hello: string): number | undefined {
  const { heartbeat } = objectOrEmpty(tryParseJson(hello));
  return typeof heartbeat === 'number' && heartbeat > 0 ? heartbeat : undefined;
}

function restoreEvent(restore: (event: StreamEvent) => StreamEvent, data: string): StreamEvent {
  const event = tryParseJson(data);
  try {
    if (isRecord(event) && hasForm(event)) return restore(event as unknown as StreamEvent);
  } catch {
    // An incomplete event: a message without parts, a text without text.
  }
  throw new ProtocolError(
    SERVER,
    'frame',
    'The server sent something that is not an event of a run. Send it with toServerSentEvents or runResponse.',
    data.slice(0, 200),
  );
}

export function remoteRunError(description: JsonObject): RemoteRunError {
  const { code, message, retryable } = description;
  return new RemoteRunError(
    nonEmptyString(code) ?? 'internal',
    nonEmptyString(message) ?? 'The run failed.',
    retryable === true,
    description,
  );
}
