import { Observable } from 'rxjs';

/**
 * Emits what a `ReadableStream` gives, each value before the next is read, so that a synchronous reader sets the pace.
 *
 * Unsubscribing cancels the stream in the same tick, also while it is silent.
 *
 * @param stream The stream. It is locked at the subscription.
 * @param failure Makes the error of what the stream fails with.
 * @param ended Called when the stream has been read to its end, before the completion. Default: nothing.
 * @returns Its values. It completes with the stream, and errors with `failure` of what the stream errors with.
 */
export function readStream<T>(stream: ReadableStream<T>, failure: (thrown: unknown) => unknown, ended?: () => void): Observable<T> {
  return new Observable((out) => {
    const reader = stream.getReader();
    let read = false;
    out.add(() => read || leave(reader));
    const pump = async () => {
      while (!out.closed) {
        const { done, value } = await reader.read();
        if (done) {
          read = true;
          ended?.();
          out.complete();
        } else out.next(value);
      }
    };
    pump().catch((thrown: unknown) => out.error(failure(thrown)));
  });
}

/** Leaves a stream that nobody reads. There is nobody to tell of a failed farewell. */
export function leave(stream: Pick<ReadableStream, 'cancel'> | null): void {
  stream?.cancel().catch(() => undefined);
}
