import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { isNested } from '../../core/eventGuards.js';
import type { StringBuilder } from '../../core/stringBuilder.js';
import type { CompactEvent } from '../../transport/compactEvents.js';

/** An event with its position in the run, for transports and logs. */
export interface Envelope<E = StreamEvent> {
  /**
   * The position after this event: `12` is after the first twelve entries of the run's log, and `12.345` is after 345
   * characters of the next entry. A reader that continues from this id misses nothing and repeats nothing. If the log
   * has no earlier attempts than the second one, it is `2:12.345`.
   */
  readonly id: string;
  readonly event: E;
  /**
   * The event as transports send it: references replace content of earlier events. Undefined for a checkpoint, which is
   * not sent.
   */
  readonly compact: CompactEvent | undefined;
}

export interface LogReader<E> {
  /** Undefined at the end. Deltas that were appended since the last call are merged. */
  next(): Envelope<E> | undefined;
}

/** With `+=` instead of the builder, unread one-character deltas took 33 bytes per character (measured). */
export interface Entry<E> {
  readonly event: E;
  readonly compact: CompactEvent | undefined;
  readonly text?: StringBuilder;
}

interface Position {
  readonly entry: number;
  readonly offset: number;
}

export function createLateReader<E extends StreamEvent>(
  entries: readonly Entry<E>[],
  after: string,
  prefix: string,
): LogReader<E> {
  let { entry: index, offset } = parsePosition(after, entries);
  const next = (): Envelope<E> | undefined => {
    const entry = entries[index];
    if (!entry) return undefined;
    const { event, compact, text } = entry;
    if (text === undefined) {
      index += 1;
      return { id: `${prefix}${index}`, event, compact };
    }
    if (offset < text.length) {
      const start = offset;
      const delta = text.toString().slice(start);
      offset = text.length;
      const merged = withDeltaText(event, delta, start);
      return { id: `${prefix}${index}.${offset}`, event: merged, compact: merged };
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

/** Fragments of a run are labelled with their call, so a slice needs no other change. */
function withDeltaText<E extends StreamEvent>(event: E, text: string, offset: number): E {
  if (isNested(event)) return { ...event, event: withDeltaText(event.event, text, offset) };
  if (event.type === 'toolCallFragment') return { ...event, arguments: text };
  const { prefix, ...delta } = event as E & { readonly prefix?: string };
  return { ...delta, ...(prefix !== undefined && offset === 0 ? { prefix } : {}), text } as unknown as E;
}
