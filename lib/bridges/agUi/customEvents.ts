import type { StreamEvent } from '../../core/event.js';
import { isRecord } from '../../core/json/json.js';
import type { CustomEvent } from './protocol.js';

/** The prefix of the names of custom events. What follows is the type of the event. */
const PREFIX = 'rivulet.';

/** An event that AG-UI has no word for, under its own type. */
export const customEvent = ({ type, ...value }: StreamEvent): CustomEvent => ({
  type: 'CUSTOM',
  name: PREFIX + type,
  value: value,
});

/** The event of a custom event; undefined for one that `customEvent` does not create. */
export function restoreEvent({ name, value }: CustomEvent): StreamEvent | undefined {
  const type = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
  return ownTypes.has(type) || !isRecord(value) ? undefined : { ...value, type };
}

/** The events that AG-UI has words for: a server cannot add them to a run as custom events. */
const ownTypes: ReadonlySet<string> = new Set([
  '',
  'text',
  'thinking',
  'toolCall',
  'toolCallFragment',
  'toolResult',
  'message',
  'result',
  'checkpoint',
  'openCalls',
  'providerData',
  'finish',
]);
