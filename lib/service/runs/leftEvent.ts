import { filter } from 'rxjs';
import type { MonoTypeOperatorFunction, Subject } from 'rxjs';
import type { Envelope } from './lateReader.js';

/** In a log that processes share: the executor has given its lease back, so another process may go on at once. */
export const leftEvent = { type: 'executorLeft' } as const;

/** Removes the events that are for processes, and not for readers. `left` emits for each. */
export const withoutLeftEvents = (left?: Subject<void>): MonoTypeOperatorFunction<Envelope> =>
  filter(({ event }) => {
    const isLeft = event.type === leftEvent.type;
    if (isLeft) left?.next();
    return !isLeft;
  });
