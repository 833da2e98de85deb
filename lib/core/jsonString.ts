/** Reads JSON strings, one after the other, from text that comes in pieces. */
export interface JsonStringReader {
  /**
   * Reads on from `from`, behind the opening quote or where the last piece ended.
   *
   * @returns The offset behind the closing quote, or the end of the piece; `~offset` of the character that no JSON string holds.
   */
  read(piece: string, from: number): number;
  /** Whether the closing quote has been read. */
  isClosed(): boolean;
  /** The text so far. A half escape and half a surrogate pair wait for the rest. */
  text(): string;
  /** The text of the string that was closed; the next one begins. */
  end(): string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const escapes: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const hexDigit = /^[\da-fA-F]$/;

export function createJsonString(): JsonStringReader {
  let text = ''; // a rope: appended to in constant time, and never read here
  let half = ''; // the first half of a surrogate pair
  let escape: string | undefined; // what has come of an escape, less its backslash; undefined outside of one
  let closed = false;

  const add = (piece: string) => {
    const joined = half === '' ? piece : half + piece;
    const isHalf = (joined.charCodeAt(joined.length - 1) & 0xfc00) === 0xd800;
    half = isHalf ? joined.slice(-1) : '';
    text += isHalf ? joined.slice(0, -1) : joined;
  };
  /** Takes one character into the open escape; false: no escape has it there. */
  const escaped = (begun: string, character: string): boolean => {
    if (begun === '' && character !== 'u') {
      const meant = escapes[character];
      if (meant === undefined) return false;
      add(meant);
      escape = undefined;
      return true;
    }
    if (begun !== '' && !hexDigit.test(character)) return false;
    escape = begun + character;
    if (escape.length < 5) return true;
    add(String.fromCharCode(parseInt(escape.slice(1), 16)));
    escape = undefined;
    return true;
  };

  return {
    read(piece, from) {
      const end = piece.length;
      let at = from;
      while (at < end) {
        if (escape !== undefined) {
          if (!escaped(escape, piece.charAt(at))) return ~at;
          at++;
          continue;
        }
        const start = at;
        let code = 0;
        while (at < end && ((code = piece.charCodeAt(at)) > QUOTE ? code !== BACKSLASH : code === 0x20 || code === 0x21)) at++;
        if (at > start) add(piece.slice(start, at));
        if (at === end) return at;
        at++;
        if (code === QUOTE) {
          closed = true;
          return at;
        }
        if (code !== BACKSLASH) return ~(at - 1);
        escape = '';
      }
      return at;
    },
    isClosed: () => closed,
    text: () => text,
    end() {
      const whole = half === '' ? text : text + half;
      text = '';
      half = '';
      closed = false;
      return whole;
    },
  };
}
