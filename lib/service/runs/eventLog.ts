import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent, isNested } from '../../core/eventGuards.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { createRestorer, withoutCheckpoints, type CompactEvent } from '../../transport/compactEvents.js';
import { estimateSize } from './estimateSize.js';
import { createLateReader, type Entry, type Envelope, type LogReader } from './lateReader.js';
import type { Receiver } from '../ports/runLog.js';
import { RunNotFoundError } from './runErrors.js';

/** In characters: the cost of reading a delta that grows is limited. */
const MAX_DELTA_LENGTH = 4096;

/** What V8 needs for the objects of a small entry besides its JSON (measured: 100 to 400). */
export const ENTRY_BYTES = 256;

export class EventLog<E extends StreamEvent> {
  private readonly entries: Entry<E>[] = [];
  private readonly restore = createRestorer();
  private total = 0;

  /** @param firstAttempt After 1, the ids have a prefix: another log had the attempts before it. Default: 1. */
  constructor(readonly firstAttempt = 1) {}

  /** In bytes: the text of the run, not its deltas, and its entries. */
  get size(): number {
    return this.total + this.entries.length * ENTRY_BYTES;
  }

  append(compact: CompactEvent): void {
    const event = this.restore(compact) as E;
    const text = deltaText(event);
    const last = this.entries.at(-1);
    this.total += text?.length ?? estimateSize(compact);
    if (text === undefined) this.entries.push({ event, compact: withoutCheckpoints(compact) });
    else if (last?.text !== undefined && last.text.length < MAX_DELTA_LENGTH && continuesDelta(last.event, event))
      last.text.add(text);
    else {
      last?.text?.toString(); // joins the deltas of a complete text
      const builder = new StringBuilder();
      builder.add(text);
      this.entries.push({ event, compact: event, text: builder });
    }
  }

  /**
   * `after` is an envelope's `id`. @throws RunNotFoundError if it is one of another log. @throws ConfigurationError
   * `options` if it is not a position of this log.
   */
  reader(after?: string): LogReader<E> {
    const own = this.firstAttempt === 1 ? '' : `${this.firstAttempt}:`;
    const [, prefix = '', position = ''] = /^(\d+:)?(.*)$/s.exec(after ?? `${own}0`) ?? [];
    if (prefix !== own) throw new RunNotFoundError();
    return createLateReader(this.entries, position, prefix);
  }
}

/** An operator on the log, which is emitted again each time it has grown. `from` may throw. `first` is read at once. */
export const readLog = <E extends StreamEvent>(
  from: () => string | undefined,
  receiver?: Receiver,
  first?: EventLog<E>,
): OperatorFunction<EventLog<E>, Envelope<E>> =>
  createOperator<EventLog<E>, Envelope<E>>((out) => {
    let reader: LogReader<E> | undefined;
    let isReading = false;
    let end: (() => void) | undefined;
    const read = () => {
      if (isReading) return; // the receiver caused an event while it received one: the loop below reads it
      isReading = true;
      while (!out.closed && !receiver?.isFull) {
        const envelope = reader?.next();
        if (envelope) out.next(envelope);
        else {
          end?.();
          break;
        }
      }
      isReading = false;
    };
    const endAfterRest = (ending: () => void) => {
      end = ending;
      read();
    };
    if (receiver) out.add(receiver.drained.subscribe({ next: read, error: (thrown: unknown) => out.error(thrown) }));
    const next = (log: EventLog<E>) => {
      reader ??= log.reader(from());
      read();
    };
    if (first) next(first);
    return {
      next,
      error: (thrown) => endAfterRest(() => out.error(thrown)),
      complete: () => endAfterRest(() => out.complete()),
    };
  });

/** Undefined for an event that is not merged, such as an empty delta. */
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
