import type { RunEvent, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';

/**
 * Returns an event as a recording contains it: as JSON, without its checkpoint. To compare the events of a run with
 * recorded ones.
 *
 * ```ts
 * const { values } = inVirtualTime(() => replayed.play(agent));
 * expect(values.map(({ value }) => recordedEvent(value))).toEqual(replayed.events.map(({ event }) => event));
 * ```
 *
 * @param event An event of a run.
 * @returns A copy of the event.
 */
export const recordedEvent = (event: StreamEvent): RunEvent =>
  JSON.parse(JSON.stringify(withoutCheckpoint(event))) as RunEvent;

/** A checkpoint repeats the history: only the one from which a run is resumed is recorded, at its start. */
export function withoutCheckpoint(value: StreamEvent): StreamEvent {
  const known = asKnownEvent(value);
  switch (known.type) {
    case 'checkpoint':
      return { type: 'checkpoint' };
    case 'turn': {
      const { checkpoint: _, next: _next, ...turn } = known;
      return turn;
    }
    case 'result': {
      const { checkpoint: _, ...result } = known.result;
      return { ...known, result } as StreamEvent;
    }
    case 'nested':
      return { ...known, event: withoutCheckpoint(known.event) } as StreamEvent;
    default:
      return value;
  }
}
