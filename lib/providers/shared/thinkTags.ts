import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';

const openingTag = '<think>';
const closingTag = '</think>';

/** Separates thinking from text in the chunks of one message. */
export interface ThinkTagParser {
  next(chunk: Chunk): void;
  /** Emits the text that is held back. Call it before an error; a `finish` does it by itself. */
  flush(): void;
}

/** Where the text is: before a tag, inside the tags, directly after them, or in the answer. */
type State = 'start' | 'thinking' | 'afterTags' | 'answer';

/**
 * Turns `<think>...</think>` at the start of a message into thinking, as servers without a field for reasoning send it
 * (DeepSeek R1 and Qwen under vLLM, Ollama, LM Studio). White space before the tag, and one line break directly after
 * it, belong to the tags and are dropped. Tags that are never closed contain thinking only. Later tags are text, since
 * an answer may mention them.
 *
 * However the text is cut, only white space before a tag and the beginning of a tag are held back. Linear in the text.
 *
 * @param emit Receives the chunks.
 */
export function createThinkTagParser(emit: (chunk: Chunk) => void): ThinkTagParser {
  let state: State = 'start';
  let heldText = '';

  const emitText = (type: 'text' | 'thinking', text: string) => {
    if (text !== '') emit({ type, text });
  };
  /** Each state reads what it can, passes the rest to the next state, and holds back what it cannot classify yet. */
  const read: Record<State, (text: string) => void> = {
    start(text) {
      const trimmed = text.trimStart();
      if (trimmed.startsWith(openingTag)) enter('thinking', trimmed.slice(openingTag.length));
      else if (openingTag.startsWith(trimmed)) heldText = text;
      else enter('answer', text);
    },
    thinking(text) {
      const end = text.indexOf(closingTag);
      if (end !== -1) {
        emitText('thinking', text.slice(0, end));
        enter('afterTags', text.slice(end + closingTag.length));
        return;
      }
      const length = text.length - partialTagLength(text, closingTag);
      emitText('thinking', text.slice(0, length));
      heldText = text.slice(length);
    },
    afterTags(text) {
      if (text === '\r') heldText = text;
      else if (text !== '') enter('answer', text.replace(/^\r?\n/, ''));
    },
    answer: (text) => emitText('text', text),
  };
  const enter = (next: State, text: string) => {
    state = next;
    read[next](text);
  };
  const readChunk = (chunk: TextChunk) => {
    const text = heldText + chunk.text;
    heldText = '';
    read[state](text);
    // The provider requires this data back, whatever became of the text that it arrived with.
    if (chunk.providerData) emit({ ...chunk, text: '' });
  };
  const flush = () => {
    const text = heldText;
    heldText = '';
    if (state === 'start' && text !== '') state = 'answer';
    emitText(state === 'thinking' ? 'thinking' : 'text', text);
  };

  return {
    flush,
    next(chunk) {
      switch (chunk.type) {
        case 'text':
          if (state === 'answer') emit(chunk);
          else readChunk(chunk);
          return;
        case 'retract':
          state = 'start';
          heldText = '';
          break;
        case 'metadata':
        case 'providerData':
          break; // These have no position among the text.
        default:
          flush();
      }
      emit(chunk);
    },
  };
}

/** The same as an operator. Text that is held back is emitted before an error or the completion. */
export function extractThinking(): MonoTypeOperatorFunction<Chunk> {
  return createOperator((out) => {
    const parser = createThinkTagParser((chunk) => out.next(chunk));
    return {
      next: (chunk) => parser.next(chunk),
      error(error) {
        parser.flush();
        out.error(error);
      },
      complete() {
        parser.flush();
        out.complete();
      },
    };
  });
}

/**
 * How many characters at the end of a text may be the beginning of a tag. They are held back until more text has
 * arrived.
 *
 * @param text The text so far.
 * @param tags The tags. Each begins with `<` and contains no other.
 */
export function partialTagLength(text: string, ...tags: readonly string[]): number {
  const start = text.lastIndexOf('<');
  return start !== -1 && tags.some((tag) => tag.startsWith(text.slice(start))) ? text.length - start : 0;
}
