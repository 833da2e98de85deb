import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent, isNested } from '../../core/eventGuards.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { createCompactor } from '../../transport/compactEvents.js';
import { estimateSize } from './estimateSize.js';
import { createLateReader } from './lateReader.js';
import type { Entry, LogReader } from './lateReader.js';

/** The events of one run, in order. Consecutive deltas are stored as one text, whatever the number of readers. */
export interface EventLog<E extends StreamEvent> {
  /** About how many bytes the events take. */
  readonly size: number;
  append(event: E): void;
  /**
   * Creates a reader.
   *
   * @param after The `id` of the last envelope that was read. Default: the start of the run.
   * @throws ConfigurationError `options` if the id is not a position of this log.
   */
  reader(after?: string): LogReader<E>;
}

/** The length at which a merged delta is closed, in characters. It limits the cost of reading a delta that grows. */
const MAX_DELTA_LENGTH = 4096;

/** Creates an empty log. Its size is that of the text of the run, not that of its deltas. */
export function createEventLog<E extends StreamEvent>(): EventLog<E> {
  const entries: Entry<E>[] = [];
  const toCompact = createCompactor();
  let size = 0;
  return {
    get size() {
      return size;
    },
    append(event) {
      const compact = toCompact(event);
      const text = deltaText(event);
      const last = entries.at(-1);
      size += text?.length ?? estimateSize(event);
      if (text === undefined) entries.push({ event, compact });
      else if (last?.text !== undefined && last.text.length < MAX_DELTA_LENGTH && continuesDelta(last.event, event))
        last.text.add(text);
      else {
        last?.text?.toString(); // joins the deltas of a complete text
        const builder = new StringBuilder();
        builder.add(text);
        entries.push({ event, compact, text: builder });
      }
    },
    reader: (after) => createLateReader(entries, after),
  };
}

/** Returns the text of a delta; undefined for an event that is not merged, such as an empty delta. */
function deltaText(event: StreamEvent): string | undefined {
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'text':
    case 'thinking':
      return known.text || undefined;
    case 'toolCallFragment':
      return typeof known.arguments === 'string' && !known.done ? known.arguments || undefined : undefined;
    case 'nested':
      return deltaText(known.event);
    default:
      return undefined;
  }
}

/** Whether a delta continues another: both are texts of one kind, or fragments of one call. */
function continuesDelta(first: StreamEvent, second: StreamEvent): boolean {
  const known = asKnownEvent(second);
  if (first.type !== known.type) return false;
  if (known.type === 'nested')
    return isNested(first) && first.id === known.id && continuesDelta(first.event, known.event);
  if (known.type === 'text') return known.prefix === undefined;
  if (known.type !== 'toolCallFragment') return true;
  const earlier = asKnownEvent(first);
  return (
    earlier.type === 'toolCallFragment' &&
    (['index', 'id', 'name'] as const).every((key) => earlier[key] === known[key])
  );
}
