import type { StreamEvent } from '../../core/event.js';
import { isRecord } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { hasForm } from '../eventForm.js';
import type { CustomEvent } from './protocol.js';

const PREFIX = 'rivulet.';

export const customEvent = ({ type, ...value }: StreamEvent): CustomEvent => ({
  type: 'CUSTOM',
  name: PREFIX + type,
  value,
});

export function restoreEvent({ name, value }: CustomEvent): StreamEvent | undefined {
  const type = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
  if (type === '' || excludedTypes.has(type) || !isRecord(value)) return undefined;
  const event = { ...value, type };
  return hasForm(event) ? event : undefined;
}

/** AG-UI has types for these events, or they do not leave a server. */
const excludedTypes = /* @__PURE__ */ words(
  'text thinking toolCall toolCallFragment toolResult message result checkpoint openCalls provider finish',
);
