import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import type { Message } from '../core/message.js';

/** The messages of a turn after one more event: `message` adds one, `retract` voids all. */
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
