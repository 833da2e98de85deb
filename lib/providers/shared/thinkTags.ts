import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import type { StreamEvent } from '../../core/event.js';
import { createTextFilter, textFilter } from '../../core/textFilter.js';
import type { TextFilter, TextReader } from '../../core/textFilter.js';

const openingTag = '<think>';
const closingTag = '</think>';

/**
 * The position in the message: before the opening tag, inside the tags, directly after the closing tag, or in the text
 * that follows.
 */
type State = 'start' | 'thinking' | 'afterTags' | 'text';

/**
 * Creates a parser that converts `<think>...</think>` at the start of a message to thinking. Servers without a field
 * for reasoning send it like this (DeepSeek R1 and Qwen under vLLM, Ollama, LM Studio). Whitespace before the opening
 * tag and one line break directly after the closing tag are dropped. Without a closing tag, the rest of the message is
 * thinking. Later tags are text, since a response may mention them.
 *
 * However the text is split, only whitespace before a tag, the beginning of a tag, and a `\r` after the closing tag are
 * held back. The time is linear in the length of the text.
 *
 * @param emit Receives the chunks.
 */
export function createThinkTagParser(emit: (chunk: Chunk) => void): TextFilter {
  return createTextFilter(createThinkTagReader, (event) => emit(event as Chunk));
}

function createThinkTagReader(emit: (event: StreamEvent) => void): TextReader {
  let state: State = 'start';
  let heldText = '';
  let blanks = ''; // the whitespace before a tag: a rope, which is not searched again with each delta

  const emitText = (type: 'text' | 'thinking', text: string) => {
    if (text !== '') emit({ type, text } as StreamEvent);
  };
  /** Each state reads what it can, passes the rest to the next state, and holds back what it cannot classify yet. */
  const read: Record<State, (text: string) => void> = {
    start(text) {
      const trimmed = text.trimStart();
      blanks += text.slice(0, text.length - trimmed.length);
      if (trimmed.startsWith(openingTag)) enter('thinking', trimmed.slice(openingTag.length));
      else if (openingTag.startsWith(trimmed)) heldText = trimmed;
      else enter('text', blanks + trimmed);
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
      else if (text !== '') enter('text', text.replace(/^\r?\n/, ''));
    },
    text: (text) => emitText('text', text),
  };
  const enter = (next: State, text: string) => {
    state = next;
    read[next](text);
  };
  return {
    read(chunk) {
      if (state === 'text') return true;
      const text = heldText + chunk.text;
      heldText = '';
      read[state](text);
      return false;
    },
    release() {
      const text = state === 'start' ? blanks + heldText : heldText;
      heldText = '';
      blanks = '';
      if (state === 'start' && text !== '') state = 'text';
      emitText(state === 'thinking' ? 'thinking' : 'text', text);
    },
  };
}

/** Applies `createThinkTagParser` as an operator. Held text is emitted before an error or the completion. */
export function extractThinking(): MonoTypeOperatorFunction<Chunk> {
  return textFilter(createThinkTagReader);
}

/**
 * How many characters at the end of a text may be the beginning of a tag. They are held back until more text has
 * arrived.
 *
 * @param text The text so far.
 * @param tags The tags. Each tag begins with `<` and contains no other `<`.
 */
export function partialTagLength(text: string, ...tags: readonly string[]): number {
  const start = text.lastIndexOf('<');
  return start !== -1 && tags.some((tag) => tag.startsWith(text.slice(start))) ? text.length - start : 0;
}
