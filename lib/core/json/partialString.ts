const QUOTE = 0x22;
const BACKSLASH = 0x5c;
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

/** Reads JSON strings, one after the other, from text that comes in pieces. A class: it is an inner loop, see `JsonTree`. */
export class JsonString {
  /** The text so far. A half escape and half a surrogate pair wait for the rest. A rope: appended to in constant time, and never read here. */
  text = '';
  /** Whether the closing quote has been read. */
  isClosed = false;
  private half = ''; // the first half of a surrogate pair
  private escape: string | undefined; // what has come of an escape, less its backslash; undefined outside of one

  /**
   * Reads on from `from`, behind the opening quote or where the last piece ended.
   *
   * @returns The offset behind the closing quote, or the end of the piece; `~offset` of the character that no JSON string holds.
   */
  read(piece: string, from: number): number {
    const end = piece.length;
    let at = from;
    while (at < end) {
      if (this.escape !== undefined) {
        if (!this.escaped(this.escape, piece.charAt(at))) return ~at;
        at++;
        continue;
      }
      const start = at;
      let code = 0;
      while (at < end && ((code = piece.charCodeAt(at)) > QUOTE ? code !== BACKSLASH : code === 0x20 || code === 0x21))
        at++;
      if (at > start) this.add(piece.slice(start, at));
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

  /** The text of the string that was closed; the next one begins. */
  end(): string {
    const whole = this.half === '' ? this.text : this.text + this.half;
    this.text = '';
    this.half = '';
    this.isClosed = false;
    return whole;
  }

  private add(piece: string): void {
    const joined = this.half === '' ? piece : this.half + piece;
    const isHalf = (joined.charCodeAt(joined.length - 1) & 0xfc00) === 0xd800;
    this.half = isHalf ? joined.slice(-1) : '';
    this.text += isHalf ? joined.slice(0, -1) : joined;
  }

  /** Takes one character into the open escape; false: no escape has it there. */
  private escaped(begun: string, character: string): boolean {
    if (begun === '' && character !== 'u') {
      const meant = escapes[character];
      if (meant === undefined) return false;
      this.add(meant);
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
