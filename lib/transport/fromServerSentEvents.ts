import { asyncScheduler, defer, filter, map, retry, switchMap, throwError } from 'rxjs';
import type { Observable, Subscription } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { ProtocolError, RivuletError, StreamInterruptedError } from '../core/errors.js';
import type { Reconnection } from '../core/connectionEvents.js';
import type { RunEvent, StreamEvent } from '../core/event.js';
import { MAX_TIMER_DELAY } from '../core/options.js';
import { isRecord, nonEmptyString, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import type { Fields, JsonObject } from '../core/json/json.js';
import { post } from '../protocol/post.js';
import type { RequestFailures } from '../protocol/post.js';
import { mergeHeaders } from '../protocol/request.js';
import { createSseReader } from '../protocol/sse.js';
import type { Frame } from '../protocol/wire.js';
import { createRestorer } from './compactEvents.js';
import { hasForm } from './eventForm.js';
import {
  answerTimeout,
  createRetryDelay,
  isRetryable,
  requestHeaders,
  requireReconnection,
  SERVER,
  SilentError,
  statusError,
  unreachable,
} from './pageRequest.js';
import type { PageRequestOptions } from './pageRequest.js';
import { randomId } from './randomId.js';
import { HELLO_EVENT, START_EVENT } from './serverSentEvents.js';

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
  /**
   * Whether the server joins a repeated request with the same run id, as `agentHandler` and `joinRun` do. A connection
   * that breaks before the first event is then opened again. Default: false, since the run could start twice.
   */
  readonly joins?: boolean | undefined;
}

/** The run failed at the server, which reports `code` and `message`. */
export class RemoteRunError extends RivuletError {
  override readonly name = 'RemoteRunError';
  override readonly retryable: boolean;

  /**
   * @param code The code of the error at the server: `timeout`, `http`, `internal`.
   * @param message The message for the user.
   * @param retryable Whether another run may succeed.
   * @param description The complete description from a Rivulet service. Default: it was another server.
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
  const { onReconnect, joins = false, fetch } = options;
  requireReconnection(options);
  return defer(() => {
    const runId = request.id ?? randomId();
    const restore = createRestorer();
    let lastEventId: string | undefined;
    let hasStarted = false;
    const { headers, body = {} } = request;
    const content = JSON.stringify(body);
    /** After the first event, the server only joins the run: files are not sent again. */
    const hasJoined = () => joins && lastEventId !== undefined && lastEventId !== '0';
    const connect = requestHeaders(request).pipe(
      switchMap((own) =>
        post({
          provider: SERVER,
          url,
          headers: mergeHeaders({ 'content-type': 'application/json' }, own, {
            [RUN_ID_HEADER]: runId,
            ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
          }),
          body: hasJoined() ? '{}' : content,
          accept: 'text/event-stream',
          fetch,
          failures: serverFailures,
        }),
      ),
      readMessages(joins ? answerTimeout(content) : undefined),
    );
    const mayRetry = (thrown: unknown) => mayConnectAgain(thrown, lastEventId !== undefined || (joins && !hasStarted));
    return connect.pipe(
      filter(({ id, event }) => {
        hasStarted = true;
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
        delay: createRetryDelay({ ...options, headers }, mayRetry, onReconnect),
      }),
    );
  });
}

/** The errors of failed requests, for the user of a page. They omit the body, which is for the server's developer. */
const serverFailures: RequestFailures = {
  connection: unreachable,
  status: (_, response) => throwError(() => statusError(response)),
  contentType(provider, { status, headers }, _, accept) {
    const type = headers.get('content-type') ?? 'no content type';
    const message = `The server answered ${status} with ${type} instead of ${accept}.`;
    return throwError(() => new ProtocolError(provider, 'content_type', message));
  },
};

/** Whether a new connection can continue the run: either nothing was received, or the server joins it. */
function mayConnectAgain(thrown: unknown, canJoin: boolean): boolean {
  if (!isRetryable(thrown) || thrown instanceof RemoteRunError) return false;
  return canJoin || !(thrown instanceof StreamInterruptedError);
}

/**
 * Reads server-sent events up to the end mark. Bytes after it are ignored. A service that tells the interval of its
 * heartbeat is lost when two of them are missing; before the first frame, after `limit`.
 */
function readMessages(limit: number | undefined) {
  return createOperator<Uint8Array, Frame>((out) => {
    let longest = limit;
    let hasFrames = false;
    let silence: Subscription | undefined;
    const watch = () => {
      silence?.unsubscribe();
      silence = undefined;
      if (longest !== undefined && !out.closed)
        silence = asyncScheduler.schedule(() => out.error(new SilentError()), longest);
    };
    const reader = createSseReader({ provider: SERVER }, (frame) => {
      if (frame.event === 'end') out.complete();
      else if (frame.event === HELLO_EVENT) longest = longestSilence(frame.data);
      else {
        if (!hasFrames) longest = undefined;
        out.next(frame);
      }
      hasFrames = true;
    });
    out.add(() => silence?.unsubscribe());
    watch();
    return {
      next(bytes) {
        reader.push(bytes);
        watch();
      },
      complete() {
        throw new StreamInterruptedError(SERVER, 'The connection ended before the run.');
      },
    };
  });
}

/** A heartbeat is left out after an event, so two intervals may be silent. */
function longestSilence(hello: string): number | undefined {
  const { heartbeat } = objectOrEmpty(tryParseJson(hello));
  return typeof heartbeat === 'number' && heartbeat > 0 ? Math.min(heartbeat * 2.5, MAX_TIMER_DELAY) : undefined;
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
