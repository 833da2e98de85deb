import { asyncScheduler } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { createCompactor } from './compactEvents.js';
import type { Envelope } from './eventLog.js';
import {
  endEvent,
  failureEvent,
  heartbeatDelay,
  heartbeatEvent,
  plainServerSentEvent,
  runServerSentEvent,
} from './serverSentEvents.js';
import type { ServerSentEvent, ServerSentEventsOptions } from './serverSentEvents.js';

/**
 * Converts the events of a run to server-sent events, which a browser reads with `fromServerSentEvents`.
 *
 * <span class="informal">What Nest's `@Sse` returns, with an end that no client takes for a broken connection.</span>
 *
 * ![](../../marbles/toServerSentEvents.svg)
 *
 * The end of the run is the event `end`, and its failure the event `failed`, after which the output completes: a
 * browser does not connect again, and a question is not asked twice. Each text is sent once: a `message` and the
 * `result` refer to the deltas before them. The checkpoints of a run are not sent.
 *
 * If the source emits the envelopes of a shared run, the events have ids, and a browser that loses its connection
 * continues with `Last-Event-ID`. A plain run cannot be continued: its events have no id, and the browser is told not
 * to connect again.
 *
 * ```ts
 * @Sse('runs/:id')
 * events(@Param('id') id: string, @Headers('last-event-id') after?: string) {
 *   return runs.attach(id, after).pipe(toServerSentEvents());
 * }
 * ```
 *
 * @param options `heartbeat` in milliseconds (default: 15000), `describeError` (default: no details of the
 * server), `onError`.
 * @returns A function that returns an Observable of server-sent events. It does not fail.
 */
export function toServerSentEvents<E extends StreamEvent>(
  options: ServerSentEventsOptions = {},
): OperatorFunction<E | Envelope<E>, ServerSentEvent> {
  return createOperator<E | Envelope<E>, ServerSentEvent>((out) => {
    const toCompact = createCompactor();
    let isSilent = true;
    let isFirst = true;
    const heartbeat = heartbeatDelay(options);
    if (heartbeat !== undefined)
      out.add(
        asyncScheduler.schedule(function () {
          if (isSilent) out.next(heartbeatEvent);
          isSilent = true;
          this.schedule(undefined, heartbeat);
        }, heartbeat),
      );
    const end = (event: ServerSentEvent) => {
      out.next(event);
      out.complete();
    };
    return {
      next(value) {
        isSilent = false;
        if (isEnvelope(value)) {
          if (value.compact) out.next(runServerSentEvent(value.compact, value.id));
          return;
        }
        const compact = toCompact(value);
        if (!compact) return;
        out.next(plainServerSentEvent(compact, isFirst));
        isFirst = false;
      },
      error: (thrown) => end(failureEvent(thrown, options)),
      complete: () => end(endEvent),
    };
  });
}

const isEnvelope = <E extends StreamEvent>(value: E | Envelope<E>): value is Envelope<E> =>
  !('type' in value) && 'compact' in value;
