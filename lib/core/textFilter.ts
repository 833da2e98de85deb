import type { MonoTypeOperatorFunction, Subscriber } from 'rxjs';
import type { TextChunk } from './chunk.js';
import { createOperator, type OperatorHandlers } from './createOperator.js';
import type { StreamEvent } from './event.js';
import { asKnownEvent } from './eventGuards.js';

/** Holds back text whose meaning depends on later text: `<thi` may begin a tag. */
export interface TextReader {
  /** True: emit the chunk as it is. Otherwise the reader has emitted what is decided. */
  read(chunk: TextChunk): boolean;
  /** `next` is the event that follows; undefined at an error or the end. */
  release(next?: StreamEvent): void;
}

/** `emit` gets the text that the reader has decided. */
export type StartTextReader = (emit: (event: TextChunk | StreamEvent) => void) => TextReader;

/** Metadata and notices pass; any other event releases the held text first, and `retract` drops it. */
class TextFilter {
  private reader: TextReader;

  constructor(
    private readonly start: StartTextReader,
    private readonly emit: (event: TextChunk | StreamEvent) => void,
  ) {
    this.reader = start(emit);
  }

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        if (this.reader.read(known)) break;
        return;
      case 'metadata':
      case 'retry':
        break;
      case 'retract':
        this.reader = this.start(this.emit);
        break;
      default:
        this.reader.release(event);
    }
    this.emit(event);
  }

  release(): void {
    this.reader.release();
  }
}

/**
 * Creates an operator that changes text, wherever the deltas are cut.
 *
 * <span class="informal">`createOperator` for text: you say what to hold back, and it knows when to release it.</span>
 *
 * A reader receives the text of a turn, emits what is decided, and holds back the rest. The operator calls `release`
 * before an event that has a position in the text (a tool call, thinking, a source, a provider part, the `finish`, an
 * unknown event), and before an error and the completion. Metadata and retries pass. `retract` drops the held text:
 * each attempt at a turn has a new reader.
 *
 * ```ts
 * const address = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g; // with limits: linear
 * const maskEmails = () =>
 *   textFilter<Chunk>((emit) => {
 *     let held = ''; // the last word, which may be the beginning of an address
 *     const emitText = (text: string) => {
 *       if (text !== '') emit({ type: 'text', text: text.replace(address, '[email]') });
 *     };
 *     return {
 *       read(chunk) {
 *         const text = held + chunk.text;
 *         const word = text.split(/[^\w.+@-]/).at(-1) ?? '';
 *         const end = text.length - Math.min(word.length, 320); // no address is longer
 *         held = text.slice(end);
 *         emitText(text.slice(0, end));
 *         return false;
 *       },
 *       release() {
 *         const text = held;
 *         held = '';
 *         emitText(text);
 *       },
 *     };
 *   });
 * ```
 *
 * @param start Called at each subscription, and at each `retract`. Returns the reader.
 * @returns A function that returns an Observable of the source's events, with the text that the readers emit.
 */
export function textFilter<E extends StreamEvent>(start: StartTextReader): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => new TextFilterHandlers(start, out));
}

class TextFilterHandlers<E extends StreamEvent> implements OperatorHandlers<E> {
  private readonly filter: TextFilter;

  constructor(
    start: StartTextReader,
    private readonly out: Subscriber<E>,
  ) {
    this.filter = new TextFilter(start, (event) => out.next(event as E));
  }

  next(event: E): void {
    this.filter.next(event);
  }

  error(error: unknown): void {
    this.filter.release();
    this.out.error(error);
  }

  complete(): void {
    this.filter.release();
    this.out.complete();
  }
}
