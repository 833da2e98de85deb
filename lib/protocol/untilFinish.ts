import { asyncScheduler, take, type Observable, type OperatorFunction, type Subscriber } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { createOperator, type OperatorHandlers, type OperatorSource } from '../core/createOperator.js';
import { StreamInterruptedError } from '../core/errors.js';
import { onEachValue } from '../core/notifier.js';
import { announceFinish, stoppedFinish } from '../core/response.js';
import { setUsageOfError } from '../core/usageOfError.js';
import { hasCounts, type Usage } from '../core/usage.js';

/** Milliseconds. Most sources end with the next read, which saves their connection; some never end. */
const DRAIN_TIMEOUT = 1000;

export interface ChunkOutput {
  emit(chunk: Chunk): void;
  /** Further chunks would be lost: the `finish` was emitted, or the subscriber has left. */
  readonly closed: boolean;
}

export interface ChunkDecoder<In> {
  next: (value: In) => void;
  /** Completed without a `finish`: emits what is left, with it. */
  end?: () => void;
  /** Stopped or failed before the `finish`: emits what was held back. */
  interrupt?: () => void;
  error?: (thrown: unknown) => unknown;
  /** What was reported so far, for a stream that is stopped or fails. */
  usage?: () => Usage | undefined;
}

/** After the `finish`, the source is read for a second at most; what follows is ignored, errors included. */
export function untilFinish<In>(
  provider: string,
  start: (output: ChunkOutput) => ChunkDecoder<In>,
  stop?: Observable<unknown>,
): OperatorFunction<In, Chunk> {
  return createOperator((out, source) => {
    const handlers = new UntilFinish(provider, out, source, start);
    if (stop) onEachValue(out, stop.pipe(take(1)), (call) => handlers.stop(call));
    return handlers;
  });
}

class UntilFinish<In> implements ChunkOutput, OperatorHandlers<In> {
  private finished = false;
  private ended = false;
  private readonly decoder: ChunkDecoder<In>;

  constructor(
    private readonly provider: string,
    private readonly out: Subscriber<Chunk>,
    private readonly source: OperatorSource,
    start: (output: ChunkOutput) => ChunkDecoder<In>,
  ) {
    this.decoder = start(this);
  }

  get closed(): boolean {
    return this.finished || this.out.closed;
  }

  emit(chunk: Chunk): void {
    if (this.finished) return;
    this.finished = chunk.type === 'finish';
    this.out.next(chunk);
    if (this.finished && !this.ended) this.out.add(asyncScheduler.schedule(() => this.out.complete(), DRAIN_TIMEOUT));
  }

  next(value: In): void {
    if (this.finished) return;
    try {
      this.decoder.next(value);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  error(thrown: unknown): void {
    if (this.finished) this.out.complete();
    else this.fail(thrown);
  }

  complete(): void {
    this.ended = true;
    try {
      if (!this.finished) this.decoder.end?.();
      if (!this.finished) throw interrupted(this.provider);
    } catch (thrown) {
      this.fail(thrown);
    }
    if (this.finished) this.out.complete();
  }

  stop(call: unknown): void {
    if (this.finished) announceFinish(call);
    else this.source.unsubscribe();
  }

  /** Only after a stop: the output is closed when the source has ended. */
  afterTeardown(): void {
    this.decoder.interrupt?.();
    const usage = this.decoder.usage?.();
    this.emit({ ...stoppedFinish, ...(hasCounts(usage) && { usage }) });
    this.out.complete();
  }

  private fail(thrown: unknown): void {
    if (this.finished) return;
    this.decoder.interrupt?.();
    const error = this.decoder.error ? this.decoder.error(thrown) : thrown;
    setUsageOfError(error, this.decoder.usage?.());
    this.out.error(error);
  }
}

export function interrupted(
  provider: string,
  what = `The response of ${provider} ended before the model had finished.`,
  options?: ErrorOptions,
): StreamInterruptedError {
  return new StreamInterruptedError(provider, `${what} Retry to get a complete response.`, options);
}
