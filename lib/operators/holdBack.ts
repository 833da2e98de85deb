import type { MonoTypeOperatorFunction } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { requireNumber, requireSync } from '../core/options.js';
import { textFilter, type TextReader } from '../core/textFilter.js';

export interface HoldBackOptions {
  /** The longest text that is held back, in characters. A longer one is emitted as it is. Default: 1000. */
  readonly limit?: number | undefined;
}

/**
 * Holds the end of the text back until it is decided, so that no delta ends in the middle of a word, a tag or a URL.
 *
 * <span class="informal">Deltas are cut anywhere; this operator cuts them where you want.</span>
 *
 * ![](../../marbles/holdBack.svg)
 *
 * A function receives the text that was held back and the next delta, as one text, and returns how many characters of
 * it are decided. They are emitted; the rest waits for more text. It is released before an event that has a position
 * among the text (a tool call, a file, a source, thinking, the `finish`), and before an error and the completion.
 * Metadata passes. `retract` drops it.
 *
 * A `map` after it sees only complete words. Put both around the model, so that the message, the history and the result
 * contain what was shown:
 *
 * ```ts
 * const polite = pipeModel(
 *   openai('gpt-6.1-terra'),
 *   holdBack((text) => text.lastIndexOf(' ') + 1), // the last word may be incomplete
 *   map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.replace(/darn/gi, '****') } : chunk)),
 * );
 * ```
 *
 * @param decided Returns the number of characters at the beginning of the text that are decided, from 0 to its length.
 * @param options `limit` (default: 1000 characters). With it, the time is linear in the length of the text.
 * @returns A function that returns an Observable of the source's events, with the same text in other deltas.
 */
export function holdBack<E extends StreamEvent>(
  decided: (text: string) => number,
  { limit = 1000 }: HoldBackOptions = {},
): MonoTypeOperatorFunction<E> {
  return textFilter((emit): TextReader => {
    requireNumber('limit', limit, 0);
    let held = '';
    const emitText = (text: string) => {
      if (text !== '') emit({ type: 'text', text } as StreamEvent);
    };
    return {
      read(chunk) {
        const text = held + chunk.text;
        const length = Math.max(0, requireSync('decided', decided(text)) || 0);
        const isDecided = length >= text.length || text.length - length > limit;
        if (isDecided && held === '') return true;
        held = isDecided ? '' : text.slice(length);
        emitText(text.slice(0, text.length - held.length));
        return false;
      },
      release() {
        const text = held;
        held = '';
        emitText(text);
      },
    };
  });
}
