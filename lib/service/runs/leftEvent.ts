import type { Envelope } from './lateReader.js';

/** In a log that processes share: the executor has given its lease back, so another process may go on at once. */
export const leftEvent = { type: 'executorLeft' } as const;

/** For processes, and not for readers. */
export const isLeftEvent = ({ event }: Envelope): boolean => event.type === leftEvent.type;
