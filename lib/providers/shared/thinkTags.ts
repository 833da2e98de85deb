import { defer, type MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { textFilter, type TextReader } from '../../core/textFilter.js';

const openingTag = '<think>';
const closingTag = '</think>';

type State = 'start' | 'thinking' | 'afterTags' | 'text';

/** DeepSeek R1 and Qwen under vLLM, Ollama, LM Studio, at the start only: a response may mention tags. */
class ThinkTagReader implements TextReader {
  private state: State = 'start';
  private heldText = '';
  /** The whitespace before a tag. It is not part of `heldText`, which is searched again with each delta. */
  private blanks = '';

  constructor(
    private readonly emit: (event: StreamEvent) => void,
    private readonly onThinking?: (text: string) => void,
  ) {}

  read(chunk: TextChunk): boolean {
    if (this.state === 'text') return true;
    const text = this.heldText + chunk.text;
    this.heldText = '';
    this.enter(this.state, text);
    return false;
  }

  release(): void {
    const text = this.state === 'start' ? this.blanks + this.heldText : this.heldText;
    this.heldText = '';
    this.blanks = '';
    if (this.state === 'start' && text !== '') this.state = 'text';
    this.emitText(this.state === 'thinking' ? 'thinking' : 'text', text);
  }

  private enter(state: State, text: string): void {
    this.state = state;
    switch (state) {
      case 'start':
        this.readStart(text);
        break;
      case 'thinking':
        this.readThinking(text);
        break;
      case 'afterTags':
        if (text === '\r') this.heldText = text;
        else if (text !== '') this.enter('text', text.replace(/^\r?\n/, ''));
        break;
      case 'text':
        this.emitText('text', text);
    }
  }

  private readStart(text: string): void {
    const trimmed = text.trimStart();
    this.blanks += text.slice(0, text.length - trimmed.length);
    if (trimmed.startsWith(openingTag)) this.enter('thinking', trimmed.slice(openingTag.length));
    else if (openingTag.startsWith(trimmed)) this.heldText = trimmed;
    else this.enter('text', this.blanks + trimmed);
  }

  private readThinking(text: string): void {
    const end = text.indexOf(closingTag);
    if (end !== -1) {
      this.emitText('thinking', text.slice(0, end));
      this.enter('afterTags', text.slice(end + closingTag.length));
      return;
    }
    const start = text.lastIndexOf('<');
    const length = start !== -1 && closingTag.startsWith(text.slice(start)) ? start : text.length;
    this.emitText('thinking', text.slice(0, length));
    this.heldText = text.slice(length);
  }

  private emitText(type: 'text' | 'thinking', text: string): void {
    if (text === '') return;
    if (type === 'thinking') this.onThinking?.(text);
    this.emit({ type, text } as StreamEvent);
  }
}

export function extractThinking(onThinking?: (text: string) => void): MonoTypeOperatorFunction<Chunk> {
  return textFilter((emit) => new ThinkTagReader(emit, onThinking));
}

/** As `extractThinking`. A turn with calls also stores the tags: open-weight models expect their reasoning back. */
export const keepThinkTags = (
  provider: string,
  readCalls: MonoTypeOperatorFunction<Chunk>,
): MonoTypeOperatorFunction<Chunk> => {
  return (source) =>
    defer(() => {
      const tagged = new StringBuilder();
      let hasCalls = false;
      const emitTags = createOperator<Chunk, Chunk>((out) => ({
        next(chunk) {
          hasCalls ||= chunk.type === 'toolCallFragment';
          if (chunk.type === 'finish' && hasCalls && tagged.length > 0) {
            const data = { think_tags: `${openingTag}${tagged.toString()}${closingTag}\n` };
            out.next({ type: 'provider', provider, data });
          }
          out.next(chunk);
        },
      }));
      return source.pipe(
        extractThinking((text) => tagged.add(text)),
        readCalls,
        emitTags,
      );
    });
};
