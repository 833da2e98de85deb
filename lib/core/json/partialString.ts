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

/** Reads the strings of partial JSON one after the other. A class: it is an inner loop, see `PartialTree`. */
export class PartialString {
  /**
   * The text so far, without an incomplete escape or half a surrogate pair. A rope: appended to in constant time, and
   * never read here.
   */
  text = '';
  /** Whether the closing quote has been read. */
  isClosed = false;
  private highSurrogate = ''; // the first half of a surrogate pair
  private escape: string | undefined; // of an open escape, the characters after its backslash

  /**
   * Reads on from `from`: after the opening quote, or from the start of the next chunk.
   *
   * @returns The offset after the closing quote, or the end of the chunk; `~offset` of a character that a JSON string
   * must not contain.
   */
  read(chunk: string, from: number): number {
    const end = chunk.length;
    let at = from;
    while (at < end) {
      if (this.escape !== undefined) {
        if (!this.readEscape(this.escape, chunk.charAt(at))) return ~at;
        at++;
        continue;
      }
      const start = at;
      let code = 0;
      while (at < end && ((code = chunk.charCodeAt(at)) > QUOTE ? code !== BACKSLASH : code === 0x20 || code === 0x21))
        at++;
      if (at > start) this.add(chunk.slice(start, at));
      if (at === end) return at;
      at++;
      if (code === QUOTE) {
        this.isClosed = true;
        return at;
      }
      if (code !== BACKSLASH) return ~(at - 1);
      this.escape = '';
    }
    return at;
  }

  /** Returns the text of the closed string, and starts the next string. */
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

  /** Adds one character to the open escape. Returns false if the escape is not valid JSON. */
  private readEscape(begun: string, character: string): boolean {
    if (begun === '' && character !== 'u') {
      const unescaped = escapes[character];
      if (unescaped === undefined) return false;
      this.add(unescaped);
      this.escape = undefined;
      return true;
    }
    if (begun !== '' && !hexDigit.test(character)) return false;
    this.escape = begun + character;
    if (this.escape.length < 5) return true;
    this.add(String.fromCharCode(parseInt(this.escape.slice(1), 16)));
    this.escape = undefined;
    return true;
  }
}
