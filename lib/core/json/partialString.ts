import { BACKSLASH, QUOTE } from './scan.js';

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const hexDigit = /^[\da-fA-F]$/;

/** A class, for speed (see `PartialTree`). */
export class PartialString {
  /** No incomplete escape, no half of a pair. While nothing reads the text, V8 keeps a rope: constant time. */
  text = '';
  isClosed = false;
  private highSurrogate = ''; // the first half of a surrogate pair
  private escape: string | undefined; // the characters after the backslash of an incomplete escape sequence

  /** Returns the offset after the closing quote (or the chunk's length), or `~offset` of an invalid character. */
  read(chunk: string, from: number): number {
    const end = chunk.length;
    let offset = from;
    while (offset < end) {
      if (this.escape !== undefined) {
        if (!this.readEscape(this.escape, chunk.charAt(offset))) return ~offset;
        offset++;
        continue;
      }
      const start = offset;
      let code = 0;
      while (
        offset < end &&
        ((code = chunk.charCodeAt(offset)) > QUOTE ? code !== BACKSLASH : code === 0x20 || code === 0x21)
      )
        offset++;
      if (offset > start) this.add(chunk.slice(start, offset));
      if (offset === end) return offset;
      offset++;
      if (code === QUOTE) {
        this.isClosed = true;
        return offset;
      }
      if (code !== BACKSLASH) return ~(offset - 1);
      this.escape = '';
    }
    return offset;
  }

  end(): string {
    const complete = this.highSurrogate === '' ? this.text : this.text + this.highSurrogate;
    this.text = '';
    this.highSurrogate = '';
    this.isClosed = false;
    return complete;
  }

  private add(text: string): void {
    const joined = this.highSurrogate === '' ? text : this.highSurrogate + text;
    const endsWithHalf = (joined.charCodeAt(joined.length - 1) & 0xfc00) === 0xd800;
    this.highSurrogate = endsWithHalf ? joined.slice(-1) : '';
    this.text += endsWithHalf ? joined.slice(0, -1) : joined;
  }

  private readEscape(sequence: string, character: string): boolean {
    if (sequence === '' && character !== 'u') {
      const unescaped = escapes[character];
      if (unescaped === undefined) return false;
      this.add(unescaped);
      this.escape = undefined;
      return true;
    }
    if (sequence !== '' && !hexDigit.test(character)) return false;
    this.escape = sequence + character;
    if (this.escape.length < 5) return true;
    this.add(String.fromCharCode(parseInt(this.escape.slice(1), 16)));
    this.escape = undefined;
    return true;
  }
}
