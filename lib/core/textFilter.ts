import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from './chunk.js';
import { createOperator } from './createOperator.js';
import type { StreamEvent } from './event.js';
import { asKnownEvent } from './eventGuards.js';
import { leaveChunk } from './remainder.js';

/** Reads the text of a turn, and holds back what it cannot decide yet. */
export interface TextReader {
  /**
   * Receives the next text, and emits what is decided. Returns true if nothing is held back and the chunk can be
   * emitted as it is.
   */
  read(chunk: TextChunk): boolean;
  /** Emits what is held back. `next` is the event that follows; undefined at an error, a stop, or the end. */
  release(next?: StreamEvent): void;
}

/** A filter for the events of one subscription. */
export interface TextFilter {
  next(event: StreamEvent): void;
  /** Emits the text that is held back. */
  flush(): void;
}

/**
 * Creates a filter for text whose deltas may be cut anywhere: a reader holds text back until it is decided.
 *
 * Metadata, provider data and notices have no position in the text, and pass. Before any other event, the held text is
 * released. `retract` drops it, and starts another reader. The provider data of a text that is held back is emitted
 * with an empty text, since it must be sent back to the provider.
 *
 * @param start Called for each turn with the function that emits an event; returns the reader.
 * @param emit Receives the events.
 */
export function createTextFilter(
  start: (emit: (event: StreamEvent) => void) => TextReader,
  emit: (event: StreamEvent) => void,
): TextFilter {
  let reader = start(emit);
  return {
    flush: () => reader.release(),
    next(event) {
      const known = asKnownEvent(event);
      switch (known.type) {
        case 'text':
          if (reader.read(known)) break;
          if (known.providerData) emit({ ...known, text: '' } as StreamEvent);
          return;
        case 'metadata':
        case 'providerData':
        case 'retry':
          break;
        case 'retract':
          reader = start(emit);
          break;
        default:
          reader.release(event);
      }
      emit(event);
    },
  };
}

/**
 * Applies `createTextFilter` as an operator. The held text is emitted before an error or the completion, and left for
 * `stopOn` when the response is stopped.
 *
 * @param start Called for each turn with the function that emits an event; returns the reader.
 */
export function textFilter<E extends StreamEvent>(
  start: (emit: (event: StreamEvent) => void) => TextReader,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let emit = (event: StreamEvent) => out.next(event as E);
    const filter = createTextFilter(start, (event) => emit(event));
    out.add(() => {
      emit = (event) => leaveChunk(event as Chunk);
      filter.flush();
    });
    return {
      next: (event) => filter.next(event),
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
