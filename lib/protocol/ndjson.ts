import { DEFAULT_MAX_EVENT_LENGTH, eventTooLarge } from './sse.js';
import { Utf8Reader } from './utf8Reader.js';
import type { Frame, FrameReader, Framing, FramingOptions } from './wire.js';

/** One JSON document per line. */
export const ndjson: Framing = { mediaType: 'application/x-ndjson', createReader: createNdjsonReader };

/**
 * Lines end in LF or CRLF; blank ones and a byte order mark are dropped. A last line without its end is `unterminated`.
 * Throws ProtocolError `event_too_large`.
 */
export function createNdjsonReader(options: FramingOptions, emit: (frame: Frame) => void): FrameReader {
  return new NdjsonReader(options, emit);
}

class NdjsonReader implements FrameReader {
  private readonly provider: string;
  private readonly maxEventLength: number;
  private readonly decoder = new Utf8Reader();
  /** Only new text is searched, and the parts are joined once: linear however the bytes are cut. */
  private parts: string[] = [];
  private length = 0;

  constructor(
    { provider, maxEventLength = DEFAULT_MAX_EVENT_LENGTH }: FramingOptions,
    private readonly emit: (frame: Frame) => void,
  ) {
    this.provider = provider;
    this.maxEventLength = maxEventLength;
  }

  push(bytes: Uint8Array): void {
    this.read(this.decoder.decode(bytes));
  }

  end(): void {
    this.read(this.decoder.end());
    this.endLine(true);
  }

  private read(text: string): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.append(text.slice(start, end));
      this.endLine(false);
      start = end + 1;
    }
    if (start < text.length) this.append(text.slice(start));
  }

  private append(part: string): void {
    this.parts.push(part);
    this.length += part.length;
    if (this.length > this.maxEventLength) throw eventTooLarge(this.provider, this.maxEventLength, this.parts.join(''));
  }

  private endLine(unterminated: boolean): void {
    const data = this.parts.join('').trim();
    this.parts = [];
    this.length = 0;
    if (data !== '') this.emit(unterminated ? { data, unterminated: true } : { data });
  }
}
