import type { StreamEvent } from './event.js';
import { asKnownEvent } from './eventGuards.js';
import type { Message } from './message.js';

/**
 * The messages of a turn after an event: `message` adds a message, `retract` removes all messages, and other events
 * change nothing.
 */
export function turnMessages(messages: readonly Message[], event: StreamEvent): readonly Message[] {
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'message':
      return [...messages, known.message];
    case 'retract':
      return [];
    default:
      return messages;
  }
}
