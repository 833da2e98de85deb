import { ConfigurationError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { StringBuilder } from '../core/stringBuilder.js';
import { createCompactor } from '../transport/compactEvents.js';
import type { CompactEvent } from '../transport/compactEvents.js';
import { estimateSize } from './estimateSize.js';

/** An event with its position in the run, for transports and logs. */
export interface Envelope<E = StreamEvent> {
  /**
   * The position after this event: `12` is after the first twelve entries of the run's log, and `12.345` is after 345
   * characters of the next entry. A reader that continues from this id misses nothing and repeats nothing.
   */
  readonly id: string;
  readonly event: E;
  /**
   * The event as transports send it: references replace content of earlier events. Undefined for a checkpoint, which is
   * not sent.
   */
  readonly compact: CompactEvent | undefined;
}

/** Reads a log from a position. */
export interface LogReader<E> {
  /** Returns the next event; undefined at the end. Deltas that were appended since the last call are merged. */
  next(): Envelope<E> | undefined;
}

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

/**
 * An entry of the log. `text` is the text of a delta, which may still grow. With `+=` instead of the builder, unread
 * one-character deltas took 33 bytes per character (measured).
 */
interface Entry<E> {
  readonly event: E;
  readonly compact: CompactEvent | undefined;
  readonly text?: StringBuilder;
}

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
    reader: (after = '0') => createReader(entries, parsePosition(after, entries)),
  };
}

interface Position {
  readonly entry: number;
  /** The number of characters of the entry's text that were read. */
  readonly offset: number;
}

function createReader<E extends StreamEvent>(entries: readonly Entry<E>[], start: Position): LogReader<E> {
  let { entry: index, offset } = start;
  const next = (): Envelope<E> | undefined => {
    const entry = entries[index];
    if (!entry) return undefined;
    const { event, compact, text } = entry;
    if (text === undefined) {
      index += 1;
      return { id: String(index), event, compact };
    }
    if (offset < text.length) {
      const delta = text.toString().slice(offset);
      offset = text.length;
      const merged = withDeltaText(event, delta);
      return { id: `${index}.${offset}`, event: merged, compact: merged };
    }
    if (index + 1 === entries.length) return undefined; // the delta may still grow
    index += 1;
    offset = 0;
    return next();
  };
  return { next };
}

function parsePosition(id: string, entries: readonly Entry<unknown>[]): Position {
  const [entry = NaN, offset = 0] = /^\d{1,15}(\.\d{1,15})?$/.test(id) ? id.split('.').map(Number) : [];
  const length = entries[entry]?.text?.length ?? 0;
  if (entry <= entries.length && offset <= length) return { entry, offset };
  throw new ConfigurationError(
    'options',
    `The run has no event with the id "${id.slice(0, 40)}".`,
    'Pass the id of an envelope of this run, or omit it to read from the start.',
  );
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
    default:
      return undefined;
  }
}

/** Whether a delta continues another: both are texts of one kind, or fragments of one call. */
function continuesDelta(first: StreamEvent, second: StreamEvent): boolean {
  const known = asKnownEvent(second);
  if (first.type !== known.type) return false;
  if (known.type !== 'toolCallFragment') return true;
  const earlier = asKnownEvent(first);
  return (
    earlier.type === 'toolCallFragment' &&
    (['index', 'id', 'name'] as const).every((key) => earlier[key] === known[key])
  );
}

/** Replaces the text of a delta. Fragments of a run are labelled with their call, so a slice needs no other change. */
const withDeltaText = <E extends StreamEvent>(event: E, text: string): E =>
  event.type === 'toolCallFragment' ? { ...event, arguments: text } : { ...event, text };
