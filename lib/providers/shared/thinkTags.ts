import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';

const opening = '<think>';
const closing = '</think>';

/** Takes chunks and passes them on with the thinking told from the text. */
export interface ThinkTagParser {
  next(chunk: Chunk): void;
  /** Releases what is held back. Called before an error; a finish does it by itself. */
  flush(): void;
}

/** Where the text stands: before a tag, within the tags, right behind them, or in the answer. */
type Place = 'start' | 'thinking' | 'behind' | 'answer';

/**
 * Turns `<think>...</think>` at the start of a message into thinking, as servers without a field for reasoning send it (DeepSeek R1 and
 * Qwen under vLLM, Ollama, LM Studio). White space before the tag and one line break right behind it belong to the tags and are dropped.
 * Tags that are never closed hold thinking only. Later tags are text: an answer may speak of them.
 *
 * However the text is cut, no more is held back than white space before a tag and the beginning of a tag. Linear in the text.
 *
 * @param emit Takes the chunks.
 */
export function createThinkTagParser(emit: (chunk: Chunk) => void): ThinkTagParser {
  let place: Place = 'start';
  let held = '';

  const say = (type: 'text' | 'thinking', text: string) => {
    if (text !== '') emit({ type, text });
  };
  /** Each step takes what it can of the text and gives the rest to the next place; what it cannot judge yet, it holds. */
  const steps: Record<Place, (piece: string) => void> = {
    start: (piece) => {
      const begun = piece.trimStart();
      if (begun.startsWith(opening)) go('thinking', begun.slice(opening.length));
      else if (opening.startsWith(begun)) held = piece;
      else go('answer', piece);
    },
    thinking: (piece) => {
      const end = piece.indexOf(closing);
      if (end !== -1) {
        say('thinking', piece.slice(0, end));
        go('behind', piece.slice(end + closing.length));
        return;
      }
      const shown = piece.length - partialTagLength(piece, closing);
      say('thinking', piece.slice(0, shown));
      held = piece.slice(shown);
    },
    behind: (piece) => {
      if (piece === '\r') held = piece;
      else if (piece !== '') go('answer', piece.replace(/^\r?\n/, ''));
    },
    answer: (piece) => say('text', piece),
  };
  const go = (next: Place, piece: string) => {
    place = next;
    steps[next](piece);
  };
  const read = (chunk: TextChunk) => {
    const piece = held + chunk.text;
    held = '';
    steps[place](piece);
    // What the provider wants back came with this text, whatever became of the text.
    if (chunk.providerData) emit({ ...chunk, text: '' });
  };
  const flush = () => {
    const piece = held;
    held = '';
    if (place === 'start' && piece !== '') place = 'answer';
    say(place === 'thinking' ? 'thinking' : 'text', piece);
  };

  return {
    flush,
    next: (chunk) => {
      if (chunk.type === 'text') {
        if (place === 'answer') emit(chunk);
        else read(chunk);
        return;
      }
      if (chunk.type === 'retract') [place, held] = ['start', ''];
      else if (chunk.type !== 'metadata' && chunk.type !== 'providerData') flush(); // those two have no place among the text
      emit(chunk);
    },
  };
}

/** The same as an operator: nothing that is held back is lost to an error or an end. */
export function extractThinking(): MonoTypeOperatorFunction<Chunk> {
  return createOperator((out) => {
    const tags = createThinkTagParser((chunk) => out.next(chunk));
    return {
      next: (chunk) => tags.next(chunk),
      error: (error) => {
        tags.flush();
        out.error(error);
      },
      complete: () => {
        tags.flush();
        out.complete();
      },
    };
  });
}

/**
 * How much of a text's end may be the beginning of a tag: it is held back until more has come.
 *
 * @param text The text so far.
 * @param tags What is looked for. Each begins with `<` and has no other.
 */
export function partialTagLength(text: string, ...tags: readonly string[]): number {
  const at = text.lastIndexOf('<');
  return at !== -1 && tags.some((tag) => tag.startsWith(text.slice(at))) ? text.length - at : 0;
}
