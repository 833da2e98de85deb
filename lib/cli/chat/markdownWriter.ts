import { bidiControls, plainText } from '../../core/plainText.js';
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
  private line = '';
  private isFenced = false;
  private wrapper: LineWrapper;

  constructor(
    private readonly size: TerminalSize,
    private readonly render: RenderMarkdown | undefined,
  ) {
    this.wrapper = new LineWrapper(size.columns);
  }

  write(text: string): string {
    let output = '';
    for (const piece of plainText(text).match(/[^\n]*\n|[^\n]+/g) ?? []) {
      this.line += piece;
      output += this.wrapper.write(piece);
      if (piece.endsWith('\n')) output += this.endLine();
    }
    return output;
  }

  end(): string {
    return (this.line === '' ? '' : this.wrapper.write('\n') + this.endLine()) + this.endBlock();
  }

  /** A block ends with an empty line that is outside of a fence of code. */
  private endLine(): string {
    const { line, block } = this;
    this.line = '';
    this.block += line;
    if (/^ {0,3}(?:```|~~~)/.test(line)) this.isFenced = !this.isFenced;
    return block !== '' && line.trim() === '' && !this.isFenced ? this.endBlock() : '';
  }

  private endBlock(): string {
    const { block, wrapper, size } = this;
    this.block = '';
    this.isFenced = false;
    this.wrapper = new LineWrapper(size.columns);
    const { lines } = wrapper;
    if (!this.render || block.trim() === '' || lines >= size.rows()) return '';
    try {
      return `\u001b[${lines}A\r\u001b[J${this.render(block, size.columns())}\n\n`;
    } catch {
      return ''; // nested too deeply for the parser: the text stays as it is
    }
  }
}

/** `marked` and `marked-terminal` are optional: undefined if they are not installed. */
export async function loadMarkdown(): Promise<RenderMarkdown | undefined> {
  try {
    const [{ Marked }, { markedTerminal }] = await Promise.all([import('marked'), import('marked-terminal')]);
    return (block, columns) => {
      const extension = markedTerminal({ width: columns, reflowText: true, showSectionPrefix: false, tab: 2 });
      const rendered = new Marked(extension as MarkedExtension).parse(block, { async: false });
      return rendered.replace(bidiControls, '').trimEnd(); // a text may hold them as entities: `&#8238;`
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
  private wordWidth = 0;

  constructor(private readonly columns: () => number) {}

  write(text: string): string {
    return (text.match(/\n|[^\S\n]+|\S+/g) ?? []).map((piece) => this.writePiece(piece)).join('');
  }

  private writePiece(piece: string): string {
    const isBlank = piece.trim() === '';
    if (piece === '\n' || (isBlank && this.column + widthOf(piece) > this.columns())) return this.breakLine();
    if (!isBlank) return this.writeWord(piece);
    this.beginWord();
    this.column += widthOf(piece);
    return piece;
  }

  /** Only ASCII can be counted: the terminal decides how wide other characters are, so their lines are broken. */
  private writeWord(piece: string): string {
    const { word, wordWidth: written } = this;
    const before = this.column - written;
    const width = widthOf(piece);
    const fits = this.column + width <= this.columns();
    if (before > 0 && !fits) {
      this.lines++;
      this.beginWord(0);
      return `${written > 0 ? `\u001b[${written}D\u001b[K` : ''}\n${this.writeWord(word + piece)}`;
    }
    if (!fits && !/^[!-~]*$/.test(piece))
      return Array.from(piece, (character) => this.writeCharacter(character)).join('');
    this.word += piece;
    this.wordWidth += width;
    this.column += width;
    return piece;
  }

  private writeCharacter(character: string): string {
    const begin = this.column + widthOf(character) > this.columns() ? this.breakLine() : '';
    this.beginWord(this.column + widthOf(character));
    return begin + character;
  }

  private beginWord(column = this.column): void {
    this.column = column;
    this.word = '';
    this.wordWidth = 0;
  }

  private breakLine(): string {
    this.lines += Math.max(1, Math.ceil(this.column / this.columns()));
    this.beginWord(0);
    return '\n';
  }
}

/** At least as many columns as a terminal needs. */
const widthOf = (text: string): number => text.length + (text.match(wide)?.length ?? 0);

/** East Asian characters, and emoji of one UTF-16 unit. Those of two units count as two without it. */
const wide = /[\u1100-\u115f\u2e80-\ud7ff\uf900-\uffef]|(?![\u{10000}-\u{10ffff}])\p{Emoji_Presentation}/gu;
