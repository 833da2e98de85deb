import { tap } from 'rxjs';
import type { NestedEvent, RunEvent, StreamEvent } from '../../core/event.js';
import { isMessage, isNested, isResult, isTurn } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import type { RunRecord } from '../ports/runStore.js';

/** Collects messages, turns and results of inner runs. A checkpoint has only those of calls without a result. */
export function createInnerMessages(inner: readonly NestedEvent[] = []) {
  const all = [...inner];
  /** How many there were when the last turn ended: `retract` goes back to it. */
  let atLastTurn = all.length;
  return {
    collect: tap((event: StreamEvent) => {
      if (event.type === 'turn') atLastTurn = all.length;
      if (event.type === 'retract') all.length = atLastTurn;
      if (isInnerStep(event)) all.push(event);
    }),
    all: (): RunRecord['inner'] => (all.length > 0 ? [...all] : undefined),
  };
}

/** Whether an event is a step of an inner run, at any depth. Those between the steps are made from their messages. */
export const isInnerStep = (nested: StreamEvent): nested is NestedEvent => {
  if (!isNested(nested)) return false;
  const { event } = nested;
  return isInnerStep(event) || isMessage(event) || isTurn(event) || isResult(event);
};

function eventsOfStep(nested: NestedEvent, eventsOf: (message: Message) => readonly RunEvent[]): readonly RunEvent[] {
  const { event } = nested;
  if (event.type === 'turn' || event.type === 'result') return [nested];
  const events =
    event.type === 'nested' ? eventsOfStep(event, eventsOf) : isMessage(event) ? eventsOf(event.message) : [];
  return events.map((each): RunEvent => ({ ...nested, event: each }));
}

/** The events with those of the inner runs, which come before the result of their call. */
export const withInner = (
  events: readonly RunEvent[],
  inner: readonly NestedEvent[] = [],
  eventsOf: (message: Message) => readonly RunEvent[],
): readonly RunEvent[] =>
  inner.length === 0
    ? events
    : events.flatMap((event) => {
        if (event.type !== 'toolResult') return event;
        return [
          ...inner.filter(({ id }) => id === event.id).flatMap((nested) => eventsOfStep(nested, eventsOf)),
          event,
        ];
      });
