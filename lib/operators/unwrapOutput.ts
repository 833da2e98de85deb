import type { MonoTypeOperatorFunction } from 'rxjs';
import type { TextChunk } from '../core/chunk.js';
import type { StreamEvent } from '../core/event.js';
import { createUnwrapper, type Unwrapper } from '../core/outputWrapper.js';
import { textFilter, type TextReader } from '../core/textFilter.js';

/**
 * Removes the wrapper of a typed output from the text: `{"value": [1, 2]}` becomes `[1, 2]`.
 *
 * <span class="informal">The provider requires an object; you asked for a list.</span>
 *
 * ![](../../marbles/unwrapOutput.svg)
 *
 * The schema of an output whose root is not an object is wrapped in a request, since OpenAI refuses any other root.
 * Place this operator before `consolidate`: then no event, message or output contains the wrapper, and neither does the
 * history that is sent back. The value streams as it arrives. Text that is not wrapped passes unchanged. `retract`
 * starts over.
 *
 * ```ts
 * const request = requestOf(state, { tools: [], options: {}, output: z.array(z.string()) });
 * model.stream(request).pipe(unwrapOutput(), accumulateToolCalls(), consolidate());
 * ```
 *
 * @returns A function that returns an Observable of the source's events, in which the text of each turn has no wrapper.
 */
export function unwrapOutput<E extends StreamEvent>(): MonoTypeOperatorFunction<E> {
  return textFilter((emit) => new UnwrappedText(emit));
}

class UnwrappedText implements TextReader {
  private unwrapper: Unwrapper;

  constructor(private readonly emit: (event: StreamEvent) => void) {
    this.unwrapper = this.unwrap();
  }

  read({ text }: TextChunk): boolean {
    return this.unwrapper.read(text);
  }

  release(next?: StreamEvent): void {
    this.unwrapper.release();
    if (next?.type === 'finish') this.unwrapper = this.unwrap();
  }

  private unwrap(): Unwrapper {
    return createUnwrapper((text) => this.emit({ type: 'text', text } as StreamEvent));
  }
}
