/** More bytes follow: a character may be cut. */
const stream = { stream: true };

/** Shared. Created late, since the environment of a test may lack it. */
let asciiDecoder: TextDecoder | undefined;

/** Remembering cut characters takes five times as long for ASCII: only from the first other bytes on (measured). */
export class Utf8Reader {
  private hasBegun = false;
  private decoder: TextDecoder | undefined;

  decode(bytes: Uint8Array): string {
    if (!this.decoder) {
      asciiDecoder ??= new TextDecoder();
      const text = asciiDecoder.decode(bytes);
      // Any other character has more bytes than the text has units. A byte that is not valid has as many.
      if (text.length === bytes.length && (bytes.at(-1) ?? 0) < 128) {
        this.hasBegun ||= text !== '';
        return text;
      }
      this.decoder = new TextDecoder('utf-8', { ignoreBOM: this.hasBegun });
    }
    return this.decoder.decode(bytes, stream);
  }

  end(): string {
    return this.decoder?.decode() ?? '';
  }
}
