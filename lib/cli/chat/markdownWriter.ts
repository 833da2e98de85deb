import { plainText } from '../../core/plainText.js';
import type { MarkedExtension } from 'marked';

/** Called each time, since a window may be resized. */
export interface TerminalSize {
  readonly columns: () => number;
  readonly rows: () => number;
}

export type RenderMarkdown = (block: string, columns: number) => string;

/** The block that grows is shown as it is. When it is complete, it is rendered, unless it has left the screen. */
export class MarkdownWriter {
  private block = '';
  private wrapper: LineWrapper;

  constructor(
    private readonly size: TerminalSize,
    private readonly render: RenderMarkdown | undefined,
  ) {
    this.wrapper = new LineWrapper(size.columns);
  }

  write(text: string): string {
    let output = '';
    for (const line of plainText(text).match(/[^\n]*\n|[^\n]+/g) ?? []) {
      this.block += line;
      output += this.wrapper.write(line);
      if (line.endsWith('\n') && isComplete(this.block)) output += this.endBlock();
    }
    return output;
  }

  end(): string {
    return (this.block.endsWith('\n') || this.block === '' ? '' : this.wrapper.write('\n')) + this.endBlock();
  }

  private endBlock(): string {
    const { block, wrapper, size } = this;
    this.block = '';
    this.wrapper = new LineWrapper(size.columns);
    const { lines } = wrapper;
    if (!this.render || block.trim() === '' || lines >= size.rows()) return '';
    return `\u001b[${lines}A\r\u001b[J${this.render(block, size.columns())}\n\n`;
  }
}

/** A block ends with an empty line that is outside of a fence of code. */
function isComplete(block: string): boolean {
  const fences = block.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0;
  return fences % 2 === 0 && block.slice(block.trimEnd().length).split('\n').length > 2;
}

/** `marked` and `marked-terminal` are optional: undefined if they are not installed. */
export async function loadMarkdown(): Promise<RenderMarkdown | undefined> {
  try {
    const [{ Marked }, { markedTerminal }] = await Promise.all([import('marked'), import('marked-terminal')]);
    return (block, columns) => {
      const extension = markedTerminal({ width: columns, reflowText: true, showSectionPrefix: false, tab: 2 });
      return new Marked(extension as MarkedExtension).parse(block, { async: false }).trimEnd();
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** A word that grows beyond the line is moved to the next one. */
export class LineWrapper {
  lines = 0;
  private column = 0;
  private word = '';

  constructor(private readonly columns: () => number) {}

  write(text: string): string {
    return (text.match(/\n|[^\S\n]+|\S+/g) ?? []).map((piece) => this.writePiece(piece)).join('');
  }

  private writePiece(piece: string): string {
    if (piece === '\n') return this.breakLine();
    if (piece.trim() === '') {
      this.word = '';
      this.column += widthOf(piece);
      return this.column > this.columns() ? this.breakLine() : piece;
    }
    return this.writeWord(piece);
  }

  private writeWord(piece: string): string {
    const written = widthOf(this.word);
    const before = this.column - written;
    this.word += piece;
    const width = widthOf(this.word);
    if (before + width <= this.columns() || before === 0) {
      this.column = before + width;
      return piece;
    }
    const erase = written > 0 ? `\u001b[${written}D\u001b[K` : '';
    const { word } = this;
    const line = this.breakLine();
    this.word = word;
    this.column = width;
    return erase + line + word;
  }

  private breakLine(): string {
    this.lines++;
    this.column = 0;
    this.word = '';
    return '\n';
  }
}

/** Two columns for each character that may be wide (from Hangul Jamo on). */
const widthOf = (text: string): number =>
  Array.from(text).reduce((width, character) => width + ((character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2), 0);
