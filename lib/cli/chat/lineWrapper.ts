/** A word that grows beyond the line is moved to the next one. */
export class LineWrapper {
  /** After the first one. */
  lines = 0;
  private column = 0;
  private word = '';

  /** Read for each word, since a window may be resized. */
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
