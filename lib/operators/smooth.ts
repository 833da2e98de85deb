import { asyncScheduler, type MonoTypeOperatorFunction, type Subscription } from 'rxjs';
import { withoutPrefix, type Chunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { MAX_TIMER_DELAY, requireNumber } from '../core/options.js';

export interface SmoothOptions {
  /** The longest time that a text waits, in milliseconds. Default: 300. */
  readonly maxDelay?: number | undefined;
  /** The time between two deltas, in milliseconds. Default: 30. */
  readonly interval?: number | undefined;
}

/**
 * Emits text at a steady pace, however it arrives.
 *
 * <span class="informal">Servers send words in bursts; a reader sees them flow.</span>
 *
 * ![](../../marbles/smooth.svg)
 *
 * Deltas of `text` and `thinking` wait in a queue, from which a timer takes the next characters. The pace is the lowest
 * at which no text waits longer than `maxDelay`. The first characters after a pause are emitted at once, so the answer
 * does not begin later.
 *
 * No other event waits. Metadata and `retry` have no position in the text, and pass. Before any other event (a tool
 * call, a file, the message, the end of the turn), before an error and before the completion, the rest of the text is
 * emitted at once. `retract` drops it.
 *
 * A delta never ends inside a character of several code points (an emoji with a skin tone, a letter with an accent):
 * the cuts are those of `Intl.Segmenter`, or of code points where a runtime does not have it.
 *
 * ```ts
 * agent.stream('Tell me a story.').pipe(smooth(), toView()).subscribe(render);
 * ```
 *
 * @param options `maxDelay` (default: 300 ms), `interval` (default: 30 ms).
 * @returns A function that returns an Observable of the source's events, with the same text in other deltas.
 * @throws ConfigurationError `options` if `maxDelay` or `interval` is less than 1.
 */
export function smooth<E extends StreamEvent>({
  maxDelay = 300,
  interval = 30,
}: SmoothOptions = {}): MonoTypeOperatorFunction<E> {
  requireNumber('maxDelay', maxDelay, 1);
  requireNumber('interval', interval, 1);
  const longest = Math.min(maxDelay, MAX_TIMER_DELAY);
  const pause = Math.min(interval, longest);
  return createOperator<E, E>((out) => {
    const queue = createTextQueue(longest, pause);
    const characterEnd = createCharacterEnd();
    let type: Delta['type'] = 'text';
    let timer: Subscription | undefined;
    const emitText = (text: string) => {
      if (text !== '') out.next({ type, text } as StreamEvent as E);
    };
    const flush = () => {
      timer?.unsubscribe();
      timer = undefined;
      emitText(queue.takeAll());
    };
    const emitShare = () => emitText(queue.take(asyncScheduler.now(), characterEnd));
    const startTimer = () => {
      timer = asyncScheduler.schedule(function () {
        if (queue.isEmpty()) {
          timer = undefined;
          return;
        }
        this.schedule(undefined, pause); // before the text: its receiver may end the run
        emitShare();
      }, pause);
    };
    const enqueue = (delta: Delta) => {
      const prefix = delta.type === 'text' && delta.prefix;
      if (prefix || delta.type !== type) flush();
      type = delta.type;
      if (prefix) out.next({ type, text: prefix, prefix } as StreamEvent as E); // a view leaves it out
      queue.append(prefix ? withoutPrefix(delta) : delta.text, asyncScheduler.now());
      if (timer) return;
      startTimer();
      emitShare();
    };
    out.add(() => timer?.unsubscribe());
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
          case 'thinking':
            enqueue(known);
            return;
          case 'metadata':
          case 'retry':
            out.next(event);
            return;
          case 'retract':
            queue.takeAll();
            break;
          default:
        }
        flush();
        out.next(event);
      },
      error(thrown) {
        flush();
        out.error(thrown);
      },
      complete() {
        flush();
        out.complete();
      },
    };
  });
}

type Delta = Extract<Chunk, { readonly type: 'text' | 'thinking' }>;

/** Each part has the time at which it must have been emitted. */
function createTextQueue(maxDelay: number, interval: number) {
  let text = '';
  /** Parts are ordered by `due`, at least an interval apart, so there are few. */
  let parts: { length: number; readonly due: number }[] = [];
  const takeAll = () => {
    const all = text;
    text = '';
    parts = [];
    return all;
  };
  return {
    isEmpty: () => text === '',
    takeAll,
    append(delta: string, now: number) {
      text += delta;
      const due = now + maxDelay;
      const last = parts.at(-1);
      if (last && due - last.due < interval) last.length += delta.length;
      else parts.push({ length: delta.length, due });
    },
    /** Takes what lets all parts be on time at the lowest constant pace. */
    take(now: number, characterEnd: (text: string, index: number) => number): string {
      let sum = 0;
      const paces = parts.map(
        ({ length, due }) => (sum += length) / (Math.max(0, Math.floor((due - now) / interval)) + 1),
      );
      const end = characterEnd(text, Math.ceil(Math.max(0, ...paces)));
      const taken = text.slice(0, end);
      text = text.slice(end);
      let rest = end;
      for (const part of parts) {
        const fromPart = Math.min(rest, part.length);
        part.length -= fromPart;
        rest -= fromPart;
      }
      parts = parts.filter(({ length }) => length > 0);
      return taken;
    },
  };
}

/** The first index, from `index` on, that is not inside a character. */
function createCharacterEnd(): (text: string, index: number) => number {
  // Hermes, the engine of React Native, has no `Segmenter`.
  const { Segmenter } = Intl as Partial<typeof Intl>;
  const segmenter = Segmenter && new Segmenter();
  return (text, index) => {
    const previous = segmenter?.segment(text).containing(index - 1);
    if (previous) return previous.index + previous.segment.length;
    return (text.codePointAt(index - 1) ?? 0) > 0xffff ? index + 1 : index;
  };
}
