import { asyncScheduler, type Subscription } from 'rxjs';
import { errorToJson } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { DeltasEntry, RecordedOutcome, RecordingEntry, ValueEntry } from './entries.js';
import { EntryQueue, type QueuedEntry } from './entryQueue.js';
import { withoutCheckpoint } from './recordedEvent.js';
import { wholeTime } from './wholeTime.js';
import type { RecordingOutput } from './recordingOutput.js';
import { endedStreams, streamNames, textSlotOf } from './textStreams.js';
import { MAX_DELTA } from './validEntry.js';

interface Batch {
  readonly of: ValueEntry['type'];
  readonly request: number | undefined;
  readonly value: StreamEvent;
  readonly texts: string[];
  readonly after: number[];
  readonly at: number;
}

/** Deltas in an entry, and texts that wait for others. */
const BATCH_SIZE = 1024;

/** Milliseconds for which a delta waits for others. */
const BATCH_TIME = 1000;

/** An event that is the chunk that is being emitted is written once, for both. */
export class RunRecorder {
  private readonly queue: EntryQueue;
  private latest = -Infinity;
  private pending: StreamEvent | undefined;
  private pendingRequest: number | undefined;
  private pendingTime = 0;
  private batch: Batch | undefined;
  private timer: Subscription | undefined;
  private waiting = 0;
  private length = 0;
  private isFull = false;
  private dropped = 0;
  private isClosed = false;

  /** `lastEntry` is the end of the run, or of the only request: nothing is written after it. */
  constructor(
    private readonly output: RecordingOutput,
    readonly run: number,
    private readonly lastEntry: 'end' | 'requestEnd' = 'end',
  ) {
    this.queue = new EntryQueue(output.secrets, (entry) => this.append(entry));
  }

  /** The time stands still while the clock of the machine is set back. */
  now(): number {
    return (this.latest = Math.max(this.latest, wholeTime()));
  }

  write(entry: RecordingEntry): void {
    this.settle();
    this.push({ texts: [], streams: [], entryOf: () => entry });
    this.flush(endedStreams(entry));
  }

  chunk(request: number, chunk: StreamEvent): void {
    this.settle();
    this.pending = chunk;
    this.pendingRequest = request;
    this.pendingTime = this.now();
  }

  event(event: StreamEvent): void {
    const { pending, pendingRequest, pendingTime } = this;
    if (event === pending) {
      this.pending = undefined;
      this.add('both', pendingRequest, event, pendingTime);
      return;
    }
    this.settle();
    this.add('event', undefined, event, this.now());
  }

  /** With a number, the end of a request. Ends are written even beyond the limit. */
  end(outcome: RecordedOutcome, error?: unknown, request?: number): void {
    const details = error === undefined ? {} : { error: errorToJson(error) };
    this.settle();
    const end = { at: this.now(), run: this.run, outcome, ...details };
    const entry: RecordingEntry =
      request === undefined ? { type: 'end', ...end } : { type: 'requestEnd', request, ...end };
    this.write(entry);
    this.isClosed ||= entry.type === this.lastEntry;
    if (this.isClosed) this.timer?.unsubscribe();
  }

  settle(): void {
    const { pending } = this;
    if (!pending) return;
    this.pending = undefined;
    this.add('chunk', this.pendingRequest, pending, this.pendingTime);
  }

  private add(of: ValueEntry['type'], request: number | undefined, value: StreamEvent, at: number): void {
    const field = deltaField(value);
    if (!field) {
      this.addValue(of, request, value, at);
      return;
    }
    const { batch } = this;
    const continues =
      batch?.of === of &&
      batch.request === request &&
      batch.texts.length < BATCH_SIZE &&
      isSameDelta(batch.value, value);
    const { texts, after, at: start } = continues ? batch : this.startBatch(of, request, value, field, at);
    texts.push((value as unknown as Readonly<Record<string, string>>)[field] ?? '');
    after.push(at - start);
  }

  private startBatch(
    of: ValueEntry['type'],
    request: number | undefined,
    first: StreamEvent,
    field: DeltasEntry['field'],
    at: number,
  ): Batch {
    if (this.batch?.texts.length === BATCH_SIZE) this.flush();
    const batch: Batch = { of, request, value: first, texts: [], after: [], at };
    const { texts, after } = batch;
    const value = { ...first, [field]: '' };
    const head = { type: 'deltas' as const, of, run: this.run, ...(request === undefined ? {} : { request }) };
    this.pushText({
      texts,
      streams: streamNames(of, request, textSlotOf(first)?.streams ?? []),
      entryOf: (clean, from) => {
        if (clean.length === after.length) return { ...head, at, value, field, texts: clean, after };
        const start = after[from] ?? 0;
        const times = after.slice(from, from + clean.length).map((time) => time - start);
        return { ...head, at: at + start, value, field, texts: clean, after: times };
      },
    });
    return (this.batch = batch);
  }

  private addValue(of: ValueEntry['type'], request: number | undefined, value: StreamEvent, at: number): void {
    const { run } = this;
    const shown = withoutCheckpoint(value);
    const head = { type: of, run, at, ...(request === undefined ? {} : { request }) };
    const slot = textSlotOf(value);
    if (!slot) {
      this.push({ texts: [], streams: [], entryOf: () => ({ ...head, value: shown }) });
      this.flush(endedStreams({ ...head, value }));
      return;
    }
    const { text, streams, replace } = slot;
    this.pushText({
      texts: [text],
      streams: streamNames(of, request, streams),
      entryOf: ([clean]) => ({ ...head, value: clean === text || clean === undefined ? shown : replace(clean) }),
    });
  }

  private pushText(queued: QueuedEntry): void {
    if (this.isClosed) return;
    this.push(queued);
    this.timer ??= asyncScheduler.schedule(() => this.flush(), BATCH_TIME);
    if (++this.waiting >= BATCH_SIZE) this.flush();
  }

  private push(queued: QueuedEntry): void {
    this.batch = undefined;
    if (!this.isClosed) this.queue.push(queued);
  }

  private flush(ended?: readonly string[]): void {
    this.batch = undefined;
    this.waiting = 0;
    this.timer?.unsubscribe();
    this.timer = undefined;
    this.queue.flush(ended);
  }

  private append(entry: RecordingEntry): void {
    const isEnd = entry.type === 'end' || entry.type === 'requestEnd';
    if (isEnd) {
      this.output.write(this.dropped > 0 ? { ...entry, dropped: this.dropped } : entry);
      return;
    }
    const room = entry.type === 'start' ? Infinity : this.output.maxLength - this.length;
    const length = this.isFull ? undefined : this.output.write(entry, room);
    if (length !== undefined) this.length += length;
    else {
      this.isFull = true;
      this.dropped += entry.type === 'deltas' ? entry.texts.length : 1;
    }
  }
}

function deltaField(value: StreamEvent): DeltasEntry['field'] | undefined {
  const known = asKnownEvent(value);
  switch (known.type) {
    case 'text':
      return known.prefix === undefined ? 'text' : undefined;
    case 'thinking':
      return 'text';
    case 'toolCallFragment':
      if ((known.id?.length ?? 0) + (known.name?.length ?? 0) > MAX_DELTA / 2) return undefined;
      return typeof known.arguments === 'string' && !known.done && !known.providerData ? 'arguments' : undefined;
    default:
      return undefined;
  }
}

const sameFields = ['type', 'index', 'id', 'name', 'preview'] as const;

const isSameDelta = (a: StreamEvent, b: StreamEvent): boolean =>
  sameFields.every((field) => Reflect.get(a, field) === Reflect.get(b, field));
