import { tap } from 'rxjs';
import type { NestedEvent, RunEvent, StreamEvent } from '../../core/event.js';
import { isMessage, isNested, isResult, isTurn } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import type { RunRecord } from '../ports/runStore.js';

/** Collects the messages of inner runs: checkpoints have only those of calls without a result. */
export function createInnerMessages(inner: readonly NestedEvent[] = []) {
  const all = [...inner];
  let ended = all.length;
  return {
    collect: tap((event: StreamEvent) => {
      if (event.type === 'turn') ended = all.length;
      if (event.type === 'retract') all.length = ended;
      if (isInnerStep(event)) all.push(event);
    }),
    all: (): RunRecord['inner'] => (all.length > 0 ? [...all] : undefined),
  };
}

/** Steps at any depth. The other events follow from these. */
export const isInnerStep = (nested: StreamEvent): nested is NestedEvent => {
  if (!isNested(nested)) return false;
  const { event } = nested;
  return isInnerStep(event) || isMessage(event) || isTurn(event) || isResult(event);
};

function expand(nested: NestedEvent, eventsOf: (message: Message) => readonly RunEvent[]): readonly RunEvent[] {
  const { event } = nested;
  if (event.type === 'turn' || event.type === 'result') return [nested];
  const events = event.type === 'nested' ? expand(event, eventsOf) : isMessage(event) ? eventsOf(event.message) : [];
  return events.map((each): RunEvent => ({ ...nested, event: each }));
}

export const withInner = (
  events: readonly RunEvent[],
  inner: readonly NestedEvent[] = [],
  eventsOf: (message: Message) => readonly RunEvent[],
): readonly RunEvent[] =>
  inner.length === 0
    ? events
    : events.flatMap((event) => {
        if (event.type !== 'toolResult') return event;
        return [...inner.filter(({ id }) => id === event.id).flatMap((nested) => expand(nested, eventsOf)), event];
      });
