import { plainText } from '../eventPrinter.js';
import { LineWrapper } from './lineWrapper.js';

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
