import { asyncScheduler, take } from 'rxjs';
import type { Observable, OperatorFunction, Subscriber } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { OperatorHandlers, OperatorSource } from '../core/createOperator.js';
import { StreamInterruptedError } from '../core/errors.js';
import { onEachValue } from '../core/notifier.js';
import { announceFinish, stoppedFinish } from '../core/response.js';
import { setUsageOfError } from '../core/usageOfError.js';
import { joinHalves } from '../core/wholeCharacters.js';
import { hasCounts } from '../core/usage.js';
import type { Usage } from '../core/usage.js';

/**
 * How long a source may stay open after the `finish`, in milliseconds. It mostly ends with the next read. Reading it to
 * its end returns the connection to the pool, where an aborted one is closed, and lets the streams that it passes
 * through finish their work; but some sources never end.
 */
const DRAIN_TIMEOUT = 1000;

/** Where a decoder sends its chunks. */
export interface ChunkOutput {
  /** Emits a chunk. Chunks after the `finish` are ignored. */
  emit(chunk: Chunk): void;
  /** Whether further chunks would be lost: the `finish` was emitted, or the subscriber has left. */
  readonly closed: boolean;
}

/** Converts the values of one stream to chunks. */
export interface ChunkDecoder<In> {
  next: (value: In) => void;
  /**
   * The source has completed without a `finish` so far: emits what is left, the `finish` included. Default: nothing is
   * left.
   */
  end?: () => void;
  /** The stream is stopped, or has failed, before the `finish`: emits what was held back. Default: nothing was. */
  interrupt?: () => void;
  /** Maps an error before the `finish`. Default: the error stays as it is. */
  error?: (thrown: unknown) => unknown;
  /** Returns the usage that was reported so far, for a stream that is stopped or fails. Default: none. */
  usage?: () => Usage | undefined;
}

/**
 * Holds a decoder to the contract of a model: exactly one `finish`, as the last chunk, then completion; otherwise an
 * error.
 *
 * The `finish` is emitted at once. The source is then read to its end, for a second at most; whatever follows is
 * ignored, errors included. Chunks that were emitted before an error stay emitted.
 *
 * @param provider The model's provider, for errors.
 * @param start Called at each subscription with the output; returns the decoder.
 * @param stop Ends the response with its first value: a `finish` with the reason `stopped`. Default: never.
 * @returns Chunks. Fails with StreamInterruptedError when the source completes without a `finish`, with what the
 * decoder throws, and with the source's errors, both as mapped by the decoder.
 */
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

/** Forwards the chunks of a decoder until the `finish`, and then waits for the end of the source. */
class UntilFinish<In> implements ChunkOutput, OperatorHandlers<In> {
  private finished = false;
  /** Whether the source has completed. */
  private ended = false;
  private readonly decoder: ChunkDecoder<In>;
  private readonly send = joinHalves<Chunk>((chunk) => this.out.next(chunk));

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
    this.send(chunk);
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

/**
 * The error for a response that ended before the model had finished.
 *
 * @param provider The model's provider.
 * @param what What happened, as a sentence. Default: the response ended too early.
 * @param options The cause, where it holds no request. Default: none.
 */
export function interrupted(
  provider: string,
  what = `The response of ${provider} ended before the model had finished.`,
  options?: ErrorOptions,
): StreamInterruptedError {
  return new StreamInterruptedError(provider, `${what} Retry to get a complete response.`, options);
}
