import { LineReader } from './lineReader.js';
import type { Frame, FrameReader, Framing, FramingOptions } from './wire.js';

/** One JSON document per line. */
export const ndjson: Framing = { mediaType: 'application/x-ndjson', createReader: createNdjsonReader };

/** Lines end in LF, CRLF or CR; blank ones and a byte order mark are dropped. The last may be `unterminated`. */
export function createNdjsonReader(options: FramingOptions, emit: (frame: Frame) => void): FrameReader {
  return new NdjsonReader(options, emit);
}

class NdjsonReader extends LineReader {
  protected readLine(text: string, start: number, end: number): void {
    const line = text.slice(start, end);
    this.checkLength(line.length, line);
    const data = line.trim();
    if (data !== '') this.emit(this.ended ? { data, unterminated: true } : { data });
  }
}
