import { asyncScheduler } from 'rxjs';
import type { Subscription } from 'rxjs';
import { errorToJson } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { omitUndefined } from '../core/json/json.js';
import type { RecordedOutcome, RecordingEntry, ValueEntry } from './entries.js';
import { withoutCheckpoint } from './recordedEvent.js';
import { openTail, redactTexts, secretsIn } from './redactTexts.js';
import type { RecordingOutput } from './recordingOutput.js';
import { RecordingClock } from './recordingClock.js';

/** Consecutive deltas that are written as one entry. */
interface Batch {
  readonly of: ValueEntry['type'];
  readonly request: number | undefined;
  readonly value: StreamEvent;
  readonly field: 'text' | 'arguments';
  readonly at: number;
  readonly texts: string[];
  /** The times of the deltas, in milliseconds since `at`. */
  readonly after: number[];
  timer: Subscription | undefined;
}

/** The largest number of deltas in an entry. */
const BATCH_SIZE = 1024;

/** The longest time that a delta waits for others, in milliseconds. */
const BATCH_TIME = 1000;

/**
 * Writes what happens in one run. Chunks and events of one run are mostly the same objects: an event that is the chunk
 * that is being emitted is written once, for both.
 */
export class RunRecorder {
  private readonly clock = new RecordingClock();
  private pending: StreamEvent | undefined;
  private pendingRequest: number | undefined;
  private pendingTime = 0;
  private batch: Batch | undefined;
  private length = 0;
  private dropped = 0;

  constructor(
    private readonly output: RecordingOutput,
    readonly run: number,
  ) {}

  /** The time at this moment. */
  now(): number {
    return this.clock.read();
  }

  /** Writes an entry, unless the recording has reached its limit. */
  write(entry: RecordingEntry): void {
    this.settle();
    this.flush();
    this.append(entry);
  }

  /** Notes a chunk before it is emitted. */
  chunk(request: number, chunk: StreamEvent): void {
    this.settle();
    this.pending = chunk;
    this.pendingRequest = request;
    this.pendingTime = this.timeOf(chunk);
  }

  /** Writes an event of the run. */
  event(event: StreamEvent): void {
    const { pending, pendingRequest, pendingTime } = this;
    if (event === pending && pendingTime === this.clock.now()) {
      this.pending = undefined;
      this.add('both', pendingRequest, event, pendingTime);
      return;
    }
    this.settle();
    this.add('event', undefined, event, this.timeOf(event));
  }

  /** Writes the end of the run or, with its number, of a request. It is written even beyond the limit. */
  end(outcome: RecordedOutcome, error?: unknown, request?: number): void {
    this.settle();
    this.flush();
    const details = omitUndefined({
      error: error === undefined ? undefined : errorToJson(error),
      dropped: this.dropped || undefined,
    });
    const end = { at: this.now(), run: this.run, outcome, ...details };
    this.output.write(request === undefined ? { type: 'end', ...end } : { type: 'requestEnd', request, ...end });
  }

  /** A delta has the time of the network read that it was in. */
  private timeOf(value: StreamEvent): number {
    return deltaField(value) ? this.clock.now() : this.clock.read();
  }

  /** Writes the chunk that was noted, if the run has not emitted it as an event. */
  private settle(): void {
    const { pending } = this;
    if (!pending) return;
    this.pending = undefined;
    this.add('chunk', this.pendingRequest, pending, this.pendingTime);
  }

  private add(of: ValueEntry['type'], request: number | undefined, value: StreamEvent, at: number): void {
    const field = deltaField(value);
    if (!field) {
      const { run } = this;
      const entry: ValueEntry = { type: of, run, at, value: withoutCheckpoint(value) };
      this.write(request === undefined ? entry : { ...entry, request });
      return;
    }
    let { batch } = this;
    if (batch && !(batch.of === of && batch.request === request && isSameDelta(batch.value, value))) {
      this.flush();
      batch = undefined;
    }
    if (batch?.texts.length === BATCH_SIZE) {
      this.flush(true);
      ({ batch } = this);
    }
    batch ??= this.startBatch({ of, request, value, field, at, texts: [], after: [], timer: undefined });
    batch.texts.push((value as unknown as Readonly<Record<string, string>>)[field] ?? '');
    batch.after.push(at - batch.at);
  }

  private startBatch(batch: Batch): Batch {
    batch.timer = asyncScheduler.schedule(() => this.flush(true), BATCH_TIME);
    return (this.batch = batch);
  }

  /**
   * Writes the deltas that wait.
   *
   * @param keepsTail Whether more deltas may follow: those at the end in which a secret may begin wait for them.
   * Default: false.
   */
  private flush(keepsTail = false): void {
    const { batch } = this;
    if (!batch) return;
    this.batch = undefined;
    batch.timer?.unsubscribe();
    const { secrets } = this.output;
    const { of, request, field, at, value, texts, after } = batch;
    const joined = texts.join('');
    const count = keepsTail ? deltasBefore(texts, openTail(joined, secrets)) : texts.length;
    const head = { type: 'deltas' as const, of, run: this.run, ...(request === undefined ? {} : { request }), at };
    const clean = redactTexts(texts, secretsIn(joined, secrets));
    const delta = { value: { ...value, [field]: '' }, field };
    if (count === texts.length) {
      this.append({ ...head, ...delta, texts: clean, after });
      return;
    }
    if (count > 0) this.append({ ...head, ...delta, texts: clean.slice(0, count), after: after.slice(0, count) });
    const first = after[count] ?? 0;
    const rest = { texts: texts.slice(count), after: after.slice(count).map((time) => time - first) };
    this.startBatch({ ...batch, ...rest, at: at + first });
  }

  private append(entry: RecordingEntry): void {
    if (this.length >= this.output.maxLength) this.dropped += entry.type === 'deltas' ? entry.texts.length : 1;
    else this.length += this.output.write(entry);
  }
}

/** How many of the texts end before a position of their joined text, or begin with it. */
function deltasBefore(texts: readonly string[], position: number): number {
  let end = 0;
  const first = texts.findIndex((text) => (end += text.length) > position);
  return first < 0 ? texts.length : first;
}

/** The field of an event that grows from delta to delta. */
function deltaField(value: StreamEvent): Batch['field'] | undefined {
  const known = asKnownEvent(value);
  switch (known.type) {
    case 'text':
      return known.providerData ? undefined : 'text';
    case 'thinking':
      return 'text';
    case 'toolCallFragment':
      return typeof known.arguments === 'string' && !known.done && !known.providerData ? 'arguments' : undefined;
    default:
      return undefined;
  }
}

/** Whether two deltas differ only in their text. */
function isSameDelta(a: StreamEvent, b: StreamEvent): boolean {
  if (a.type !== b.type) return false;
  if (a.type !== 'toolCallFragment') return true;
  const [x, y] = [asKnownEvent(a), asKnownEvent(b)];
  return (
    x.type === 'toolCallFragment' &&
    y.type === 'toolCallFragment' &&
    x.index === y.index &&
    x.id === y.id &&
    x.name === y.name
  );
}
