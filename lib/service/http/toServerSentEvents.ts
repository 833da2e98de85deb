import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { createCompactor, withoutCheckpoints } from '../../transport/compactEvents.js';
import type { Envelope } from '../runs/lateReader.js';
import {
  endEvent,
  failureEvent,
  helloEvent,
  plainServerSentEvent,
  runServerSentEvent,
  startHeartbeat,
} from '../../transport/serverSentEvents.js';
import type { ServerSentEvent, ServerSentEventsOptions } from '../../transport/serverSentEvents.js';

/**
 * Converts the events of a run to server-sent events, which a browser reads with `fromServerSentEvents`.
 *
 * <span class="informal">Events for Nest's `@Sse`, with an end that no client mistakes for a broken connection.</span>
 *
 * ![](../../../marbles/toServerSentEvents.svg)
 *
 * The first event is `hello`, with the interval of the heartbeat: a page that misses two of them connects again. The
 * end of the run is the event `end`, and its failure the event `failed`, after which the output completes: a browser
 * does not connect again, and a question is not sent twice. Each text is sent once: a `message` and the `result` refer
 * to the deltas before them. The checkpoints of a run are not sent.
 *
 * If the source emits the envelopes of a shared run, the events have ids, and a browser that loses its connection
 * continues with `Last-Event-ID`. A plain run cannot be continued: its events have no id, and the browser is told not
 * to connect again. A value that is not JSON fails the run.
 *
 * ```ts
 * @Sse('runs/:id')
 * events(@Param('id') id: string, @Headers('last-event-id') after?: string) {
 *   return runs.attach(id, after).pipe(toServerSentEvents());
 * }
 * ```
 *
 * @param options `heartbeat` in milliseconds (default: 15000), `describeError` (default: no details of the server),
 * `onError`.
 * @returns A function that returns an Observable of server-sent events. It does not fail.
 */
export function toServerSentEvents<E extends StreamEvent>(
  options: ServerSentEventsOptions = {},
): OperatorFunction<E | Envelope<E>, ServerSentEvent> {
  return createOperator<E | Envelope<E>, ServerSentEvent>((out) => {
    const toCompact = createCompactor();
    let isFirst = true;
    const hello = helloEvent(options);
    if (hello) out.next(hello);
    const heartbeat = startHeartbeat(options, (event) => out.next(event));
    out.add(heartbeat.timer);
    const end = (event: ServerSentEvent) => {
      out.next(event);
      out.complete();
    };
    const fail = (thrown: unknown) => end(failureEvent(thrown, options));
    const toServerSentEvent = (value: E | Envelope<E>): ServerSentEvent | undefined => {
      if (isEnvelope(value)) return value.compact && runServerSentEvent(value.compact, value.id);
      const compact = withoutCheckpoints(toCompact(value));
      return compact && plainServerSentEvent(compact, isFirst);
    };
    return {
      next(value) {
        heartbeat.noteEvent();
        let event: ServerSentEvent | undefined;
        try {
          event = toServerSentEvent(value);
        } catch (thrown) {
          fail(thrown); // the event is not JSON (a bigint, a cycle)
        }
        if (!event) return;
        isFirst = false;
        out.next(event);
      },
      error: fail,
      complete: () => end(endEvent),
    };
  });
}

const isEnvelope = <E extends StreamEvent>(value: E | Envelope<E>): value is Envelope<E> =>
  !('type' in value) && 'compact' in value;
