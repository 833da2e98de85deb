import { asyncScheduler, Subscription } from 'rxjs';
import type { JsonObject } from '../core/json/json.js';
import { MAX_TIMER_DELAY, requireNumber, requireSync } from '../core/options.js';
import type { CompactEvent } from './compactEvents.js';
import { describeError } from './publicError.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** One server-sent event. The fields have the names of Nest's `MessageEvent`, so `@Sse` accepts it. */
export interface ServerSentEvent {
  readonly id?: string;
  /**
   * The `event` field. Events of a run have none. `runResponse` begins with `start`; the end of the run is
   * `end`, and its failure is `failed`.
   */
  readonly type?: string;
  /** One line of JSON. */
  readonly data?: string;
  /** How long a browser waits before it connects again, in milliseconds. */
  readonly retry?: number;
  readonly comment?: string;
}

/** Options of `toServerSentEvents`. */
export interface ServerSentEventsOptions {
  /**
   * After how many milliseconds without an event a comment is sent, so that proxies keep the connection open. Default:
   * 15000. `false`: none are sent.
   */
  readonly heartbeat?: number | false | undefined;
  /**
   * Describes an error to the browser. Default: `code`, `retryable` and a fixed sentence for errors of the provider and
   * the transport; `code`, `message` and `retryable` of errors whose class is public (`isPublic`); of any other error
   * only that the run failed.
   */
  readonly describeError?: ((thrown: unknown) => JsonObject) | undefined;
  /** Called with the error of a run before it is described, for the log of the server. Default: nothing is called. */
  readonly onError?: ((thrown: unknown) => void) | undefined;
}

/** Proxies close a connection that is silent for 30 to 60 seconds. */
const DEFAULT_HEARTBEAT = 15_000;

export type HeartbeatOption = Pick<ServerSentEventsOptions, 'heartbeat'>;

/** Handlers call it when they are created: a request would be too late. */
export function heartbeatDelay({ heartbeat = DEFAULT_HEARTBEAT }: HeartbeatOption): number | undefined {
  if (heartbeat === false || heartbeat === Infinity) return undefined;
  requireNumber('heartbeat', heartbeat, 1);
  return Math.min(heartbeat, MAX_TIMER_DELAY);
}

const heartbeatEvent: ServerSentEvent = { comment: 'keep-alive' };

export interface Heartbeat {
  noteEvent(): void;
  readonly timer: Subscription;
}

export function startHeartbeat(options: ServerSentEventsOptions, send: (event: ServerSentEvent) => void): Heartbeat {
  const delay = heartbeatDelay(options);
  let isSilent = true;
  const beat = () => {
    if (isSilent) send(heartbeatEvent);
    isSilent = true;
  };
  const timer =
    delay === undefined
      ? Subscription.EMPTY
      : asyncScheduler.schedule(function () {
          beat();
          this.schedule(undefined, delay);
        }, delay);
  return { timer, noteEvent: () => (isSilent = false) };
}

/** Sent first: with an id, a client connects again. `EventSource` obeys its `id` and `retry`. */
export function startEvent(canContinue: boolean, after: string | undefined): ServerSentEvent {
  if (!canContinue) return { type: START_EVENT, data: '{}', retry: MAX_TIMER_DELAY };
  return { type: START_EVENT, data: '{}', ...(after === undefined ? { id: '0' } : {}) };
}

/** The first event of a response tells the interval of the heartbeat. */
export const HELLO_EVENT = 'hello';

/** Tells when silence means that the connection is lost. Undefined without heartbeats. */
export function helloEvent(options: ServerSentEventsOptions): ServerSentEvent | undefined {
  const heartbeat = heartbeatDelay(options);
  return heartbeat === undefined ? undefined : { type: HELLO_EVENT, data: JSON.stringify({ heartbeat }) };
}

export function helloText(options: ServerSentEventsOptions): string {
  const hello = helloEvent(options);
  return hello ? formatServerSentEvent(hello) : '';
}

export const START_EVENT = 'start';

/** `EventSource` connects again whenever a response ends: `retry` makes it wait for 24 days. */
export const endEvent: ServerSentEvent = { type: 'end', data: '{}', retry: MAX_TIMER_DELAY };

/** Reports an error, and describes it to the browser. If a function of the user throws, that error is described. */
export function describeReported(
  thrown: unknown,
  { describeError: describe = describeError, onError }: Pick<ServerSentEventsOptions, 'describeError' | 'onError'>,
): JsonObject {
  try {
    reportRejection(onError?.(thrown));
    const described = requireSync('describeError', describe(thrown));
    return JSON.parse(JSON.stringify(described)) as JsonObject; // throws if it is not JSON
  } catch (error) {
    return describeError(error);
  }
}

export const failureEvent = (thrown: unknown, options: ServerSentEventsOptions): ServerSentEvent => ({
  type: 'failed',
  data: JSON.stringify(describeReported(thrown, options)),
  retry: MAX_TIMER_DELAY,
});

export function runServerSentEvent(event: CompactEvent, id: string): ServerSentEvent {
  return { id, data: JSON.stringify(event) };
}

/** A plain run cannot be continued. The first event tells a browser not to connect again. */
export function plainServerSentEvent(event: CompactEvent, isFirst: boolean): ServerSentEvent {
  const data = JSON.stringify(event);
  return isFirst ? { data, retry: MAX_TIMER_DELAY } : { data };
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function formatServerSentEvent({ id, type, data, retry, comment }: ServerSentEvent): string {
  const lines = [
    comment === undefined ? '' : `: ${comment}\n`,
    type === undefined ? '' : `event: ${type}\n`,
    retry === undefined ? '' : `retry: ${retry}\n`,
    id === undefined ? '' : `id: ${id}\n`,
    data === undefined ? '' : `data: ${data}\n`,
  ];
  return `${lines.join('')}\n`;
}
