import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';
import { leaveChunk } from '../../core/remainder.js';

/** A filter that holds text back while it is undecided. */
export interface TextFilter {
  next(chunk: Chunk): void;
  /** Emits the text that is held back. */
  flush(): void;
}

/**
 * Applies a filter as an operator. The text that it holds back is emitted before an error or the completion, and left
 * for `stopOn` when the response is stopped.
 *
 * @param start Called at each subscription with the function that emits a chunk; returns the filter.
 */
export function textFilter(start: (emit: (chunk: Chunk) => void) => TextFilter): MonoTypeOperatorFunction<Chunk> {
  return createOperator((out) => {
    let emit = (chunk: Chunk) => out.next(chunk);
    const filter = start((chunk) => emit(chunk));
    out.add(() => {
      emit = leaveChunk;
      filter.flush();
    });
    return {
      next: (chunk) => filter.next(chunk),
      error(error) {
        filter.flush();
        out.error(error);
      },
      complete() {
        filter.flush();
        out.complete();
      },
    };
  });
}
