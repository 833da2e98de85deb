export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const BACKTICK = 0x60;
const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

export const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
export const isOpening = (code: number): boolean => code === OPEN_BRACE || code === OPEN_BRACKET;
export const isClosing = (code: number): boolean => code === CLOSE_BRACE || code === CLOSE_BRACKET;
const isLetter = (code: number): boolean => (code | 0x20) > 0x60 && (code | 0x20) < 0x7b;
const isDigit = (code: number): boolean => code > 0x2f && code < 0x3a;

export const beginsScalar = (code: number): boolean =>
  isDigit(code) || code === 0x2d || code === 0x74 || code === 0x66 || code === 0x6e;

export function scalarEnd(text: string, from: number): number {
  let offset = from;
  for (; offset < text.length; offset++) {
    const code = text.charCodeAt(offset);
    if (!isDigit(code) && !isLetter(code) && code !== 0x2b && code !== 0x2d && code !== 0x2e) break;
  }
  return offset;
}

const numberSyntax = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export function parseScalar(text: string): number | boolean | null | undefined {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text === 'null') return null;
  return numberSyntax.test(text) ? Number(text) : undefined;
}

/** What may precede a value: white space, a byte order mark, a code fence. */
export function createLeadScanner(): (code: number) => boolean {
  let backticks = 0;
  let isInLanguage = false;
  return (code) => {
    if (code === BACKTICK && backticks < 3) {
      isInLanguage = ++backticks === 3;
      return true;
    }
    if (backticks === 1 || backticks === 2) return false; // inline code has no language
    if (code === 0x0a) isInLanguage = false;
    return isSpace(code) || code === 0xfeff || (isInLanguage && isLetter(code));
  };
}

/** The syntax is not checked. A class, with local variables during a scan, for speed. */
export class BracketScanner {
  /** The text so far ends with a complete top-level value, possibly followed by whitespace. */
  isClosed = false;
  private depth = 0;
  private isInString = false;
  private isEscaped = false;

  /** The offset after the first end of a top-level value; -1 if the text ends first. */
  scan(text: string, from: number): number {
    let { depth, isInString } = this;
    let offset = this.isEscaped && from < text.length ? from + 1 : from;
    if (depth === 0 && !isInString) {
      while (offset < text.length && text.charCodeAt(offset) <= 0x20) offset++;
      if (offset < text.length) this.isClosed = false;
    }
    for (; offset < text.length; offset++) {
      const code = text.charCodeAt(offset);
      if (isInString) {
        if (code === BACKSLASH) offset++;
        else if (code === QUOTE) {
          isInString = false;
          if (depth === 0) return this.close(offset + 1);
        }
      } else if (code === QUOTE) isInString = true;
      else if (isOpening(code)) depth++;
      else if (isClosing(code) && --depth === 0) return this.close(offset + 1);
    }
    this.depth = depth;
    this.isInString = isInString;
    this.isEscaped = from < text.length ? offset > text.length : this.isEscaped;
    return -1;
  }

  private close(end: number): number {
    this.depth = 0;
    this.isInString = false;
    this.isEscaped = false;
    this.isClosed = true;
    return end;
  }
}

/** -1 if the text ends first. Without meaning for text that is not JSON. */
export function closingEnd(text: string, from: number): number {
  return new BracketScanner().scan(text, from);
}
