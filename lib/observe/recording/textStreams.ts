import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { RecordingEntry, ValueEntry } from './entries.js';

export interface TextSlot {
  /** Servers tell the calls of an answer apart by an index, an id, or both. */
  readonly streams: readonly string[];
  readonly text: string;
  readonly replace: (text: string) => StreamEvent;
}

/** A secret may span values of one slot: an answer, thinking, arguments, progress, or a sub-agent. */
export function textSlotOf(value: StreamEvent): TextSlot | undefined {
  const known = asKnownEvent(value);
  switch (known.type) {
    case 'text':
    case 'thinking':
      return slot([`:${known.type}`], known.text, (text) => ({ ...known, text }));
    case 'toolCallFragment':
      return slot(
        [`:arguments${known.index ?? ''}`, ...(known.id ? [`:argumentsOf${known.id}`] : [])],
        known.arguments,
        (args) => ({ ...known, arguments: args }),
      );
    case 'toolProgress':
      return slot([`${known.id}/progress`], known.value, (progress) => ({ ...known, value: progress }));
    case 'nested': {
      const inner = textSlotOf(known.event);
      if (!inner) return undefined;
      return slot(
        inner.streams.map((stream) => `${known.id}/${stream}`),
        inner.text,
        (text) => ({ ...known, event: inner.replace(text) }),
      );
    }
    default:
      return undefined;
  }
}

const slot = (streams: readonly string[], text: unknown, replace: TextSlot['replace']): TextSlot | undefined =>
  typeof text === 'string' ? { streams, text, replace } : undefined;

export function streamNames(
  of: ValueEntry['type'],
  request: number | undefined,
  streams: readonly string[],
): readonly string[] {
  const owners = { chunk: [`request${request}/`], event: ['run/'], both: [`request${request}/`, 'run/'] }[of];
  return owners.flatMap((owner) => streams.map((stream) => owner + stream));
}

export function endedStreams(entry: RecordingEntry): readonly string[] {
  switch (entry.type) {
    case 'end':
      return [''];
    case 'requestEnd':
      return [`request${entry.request}/`];
    case 'event':
    case 'both':
      return endedByEvent('run/', entry.value);
    default:
      return [];
  }
}

/** A message, a turn and a result end the texts of their agent; a tool's result those of the tool. */
function endedByEvent(path: string, value: StreamEvent): readonly string[] {
  const known = asKnownEvent(value);
  switch (known.type) {
    case 'message':
    case 'turn':
    case 'result':
      return [`${path}:`];
    case 'toolResult':
      return [`${path}${known.id}/`];
    case 'nested':
      return endedByEvent(`${path}${known.id}/`, known.event);
    default:
      return [];
  }
}
